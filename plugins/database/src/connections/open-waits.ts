/** Something that is waited for right now. */
interface OpenWait {
  readonly since: number
  readonly endsAt: number
  /** True for a statement on a connection of the pool. */
  readonly isOrdinary: boolean
  /** Called once when it has taken too long. */
  readonly onEnd: () => void
}

/**
 * Waits that have an end. One timer serves all of them: it is set to the earliest end and looks again from there, so a wait
 * that is over in time costs an entry of a set and no timer. It keeps the process alive while there is something to end, and
 * no longer. Time is real and monotonic: what is waited for is a real server.
 */
export class OpenWaits {
  readonly #open = new Set<OpenWait>()
  #timer: NodeJS.Timeout | undefined
  #firesAt = Number.POSITIVE_INFINITY

  /** @param limitMs milliseconds until `onEnd`; `Infinity` for none */
  open(limitMs: number, onEnd: () => void, isOrdinary = false): OpenWait {
    const since = performance.now()
    const wait = { since, endsAt: since + limitMs, isOrdinary, onEnd }
    if (this.#open.size === 0) this.#timer?.ref()
    this.#open.add(wait)
    if (wait.endsAt < this.#firesAt) this.#arm(wait.endsAt)
    return wait
  }

  close(wait: OpenWait): void {
    this.#open.delete(wait)
    if (this.#open.size === 0) this.#timer?.unref()
  }

  /** Milliseconds since the oldest one began; 0 when there is none. */
  get longestMs(): number {
    for (const { since } of this.#open) return performance.now() - since
    return 0
  }

  /** When the oldest wait for an ordinary statement began; `undefined` when there is none. */
  get oldestOrdinary(): number | undefined {
    for (const { since, isOrdinary } of this.#open) if (isOrdinary) return since
    return undefined
  }

  #arm(at: number): void {
    clearTimeout(this.#timer)
    this.#firesAt = at
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(at - performance.now())))
  }

  #look(): void {
    this.#timer = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
    const now = performance.now()
    let next = Number.POSITIVE_INFINITY
    for (const wait of [...this.#open]) {
      if (wait.endsAt > now) {
        next = Math.min(next, wait.endsAt)
        continue
      }
      this.#open.delete(wait)
      wait.onEnd()
    }
    if (next < this.#firesAt) this.#arm(next)
  }
}
