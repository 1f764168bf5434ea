/** The part of the browser's `EventSource` that this module uses. */
export interface EventStream {
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: string }) => void) | null
  onerror: (() => void) | null
  addEventListener(event: 'end', listener: () => void): void
  close(): void
}

interface HintSourceOptions {
  open(): EventStream
  /** Calls `work` after a number of milliseconds. The returned function cancels the call. */
  later(work: () => void, ms: number): () => void
  /** Returns a random number that is at least 0 and below 1. */
  random(): number
  /** Called with the operations whose responses may have changed. */
  onHint(operations: readonly string[]): void
  /** Called when the stream connects or disconnects. */
  onChange(isReceived: boolean): void
  /** Called when the server reports the end of the session. */
  onEnd(): void
}

const firstPauseMs = 1_000
const maxPauseMs = 60_000

/** Receives change messages from the server. After a disconnection it reconnects, with increasing pauses. */
export class HintSource {
  readonly #parts: HintSourceOptions
  #stream: EventStream | undefined
  #stopWaiting: (() => void) | undefined
  #failures = 0

  constructor(parts: HintSourceOptions) {
    this.#parts = parts
  }

  start(): void {
    if (this.#stream !== undefined) return
    this.#wait(undefined)
    const stream = this.#parts.open()
    this.#stream = stream
    stream.onopen = () => {
      this.#failures = 0
      this.#parts.onChange(true)
    }
    stream.onmessage = ({ data }) =>
      this.#parts.onHint((JSON.parse(data) as { operations: readonly string[] }).operations)
    stream.onerror = () => {
      this.stop()
      // Half of the pause is random. Otherwise all pages that lost the same server would reconnect at the same time.
      const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, maxPauseMs) * (0.5 + this.#parts.random() / 2)
      this.#failures += 1
      this.#wait(this.#parts.later(() => this.start(), pauseMs))
    }
    stream.addEventListener('end', () => this.#parts.onEnd())
  }

  stop(): void {
    this.#wait(undefined)
    if (this.#stream === undefined) return
    this.#stream.close()
    this.#stream = undefined
    this.#parts.onChange(false)
  }

  /** Ends the current pause before the next connection, and stores the function that ends the new pause. */
  #wait(stop: (() => void) | undefined): void {
    this.#stopWaiting?.()
    this.#stopWaiting = stop
  }
}
