import type { Clock } from '@plinth/kernel'

/** Collects names and hands them on together, some time after the first: however many come, one call in that time. */
export class MergedNames {
  readonly #waitMs: number
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #hand: (names: readonly string[]) => void
  readonly #stopped = new AbortController()
  #names = new Set<string>()

  constructor(waitMs: number, clock: Pick<Clock, 'sleep'>, hand: (names: readonly string[]) => void) {
    this.#waitMs = waitMs
    this.#clock = clock
    this.#hand = hand
  }

  add(name: string): void {
    if (this.#stopped.signal.aborted) return
    this.#names.add(name)
    if (this.#names.size === 1) void this.#handLater()
  }

  /** What waits is forgotten. */
  stop(): void {
    this.#stopped.abort()
  }

  async #handLater(): Promise<void> {
    const { signal } = this.#stopped
    await this.#clock.sleep(this.#waitMs, signal)
    const names = [...this.#names]
    this.#names = new Set()
    if (!signal.aborted) this.#hand(names)
  }
}
