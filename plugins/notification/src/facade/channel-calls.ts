import { type Clock, Deadlines } from '@plinth/kernel'

/** What a call answers that has no answer in time. */
export const late = Symbol('no answer in time')

/** Calls of channels that are under way: each has a deadline, and all can be given up. */
export class ChannelCalls {
  readonly #deadlines: Deadlines
  readonly #calls = new Set<AbortController>()
  #stopped: Error | undefined

  constructor(clock: Clock) {
    this.#deadlines = new Deadlines(clock)
  }

  /**
   * What the channel answers, or `late`; whatever it does after that is left to end by itself. The signal of the work aborts
   * when its time is over, when the caller gives up and when the product stops: the answer is awaited still in the last two cases.
   *
   * @param ms deadline in milliseconds
   * @param outer the caller's
   * @throws what the work throws
   */
  run<T>(
    ms: number,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | typeof late> {
    const { promise, resolve, reject } = Promise.withResolvers<T | typeof late>()
    const call = new AbortController()
    const giveUp = () => call.abort(outer?.reason)
    const endWait = this.#deadlines.begin(ms, () => {
      end()
      call.abort(new Error(`No answer within ${ms} ms`))
      resolve(late)
    })
    const end = () => {
      endWait()
      this.#calls.delete(call)
      outer?.removeEventListener('abort', giveUp)
    }
    this.#calls.add(call)
    outer?.addEventListener('abort', giveUp)
    if (outer?.aborted === true) giveUp()
    if (this.#stopped !== undefined) call.abort(this.#stopped)
    new Promise<T>((answer) => answer(work(call.signal))).then(
      (answered) => {
        end()
        resolve(answered)
      },
      (error) => {
        end()
        reject(error)
      },
    )
    return promise
  }

  /** Makes channels that are asked now, or later, give up. */
  giveUp(): void {
    this.#stopped = new Error('The product stops')
    for (const call of this.#calls) call.abort(this.#stopped)
  }
}
