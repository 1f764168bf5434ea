/**
 * Notices that a server has stopped answering. One timer for all commands, which runs out at most once in its time: a
 * timer for each command would cost as much as sending it.
 */
export class AnswerWatch {
  readonly #ms: number
  readonly #giveUp: () => void
  #open = 0
  /** When the last answer came, or the oldest open command was sent. */
  #since = 0
  #timer: NodeJS.Timeout | undefined

  /**
   * @param ms time for which commands may be open without any answer
   * @param giveUp called when it has passed
   */
  constructor(ms: number, giveUp: () => void) {
    this.#ms = ms
    this.#giveUp = giveUp
  }

  sent(): void {
    if (this.#open === 0) this.#since = performance.now()
    this.#open += 1
    this.#timer ??= setTimeout(this.#look, this.#ms)
  }

  /** A command has its answer, or has failed. */
  ended(): void {
    this.#open -= 1
    this.#since = performance.now()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  readonly #look = () => {
    this.#timer = undefined
    if (this.#open === 0) return
    const leftMs = this.#ms - (performance.now() - this.#since)
    if (leftMs > 0) this.#timer = setTimeout(this.#look, Math.ceil(leftMs))
    // Where the process was busy, the answer may lie in the socket already.
    else setImmediate(this.#lookAgain, this.#since)
  }

  readonly #lookAgain = (since: number) => {
    if (this.#open === 0) return
    if (this.#since === since) this.#giveUp()
    this.#timer ??= setTimeout(this.#look, this.#ms)
  }
}
