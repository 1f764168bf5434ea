/** What a browser's `EventSource` offers of itself. */
export interface EventStream {
  onopen: (() => void) | null
  onmessage: ((event: { readonly data: string }) => void) | null
  onerror: (() => void) | null
  addEventListener(event: 'end', listener: () => void): void
  close(): void
}

interface HintSourceParts {
  open(): EventStream
  /** Calls back after so many milliseconds, unless the answered function is called before. */
  later(work: () => void, ms: number): () => void
  /** From 0 up to 1. */
  random(): number
  /** Operations whose answers may have changed. */
  onHint(operations: readonly string[]): void
  /** The server can be heard, or not any more. */
  onChange(isHeard: boolean): void
  /** The server says that the session has ended. */
  onEnd(): void
}

const firstPauseMs = 1_000
const longestPauseMs = 60_000

/** Listens to what the server says of changes, and comes again after pauses that grow while it cannot be heard. */
export class HintSource {
  readonly #parts: HintSourceParts
  #stream: EventStream | undefined
  #stopWaiting: (() => void) | undefined
  #failures = 0

  constructor(parts: HintSourceParts) {
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
      // Half of it by chance: pages that lost one server do not come again together.
      const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, longestPauseMs) * (0.5 + this.#parts.random() / 2)
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

  /** One pause at a time. */
  #wait(stop: (() => void) | undefined): void {
    this.#stopWaiting?.()
    this.#stopWaiting = stop
  }
}
