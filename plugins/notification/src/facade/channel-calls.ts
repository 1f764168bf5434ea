import { type Clock, Deadlines } from '@plinth/kernel'

export const timedOut = Symbol('no answer in time')

/** Calls channels with a deadline, and can abort all of them. */
export class ChannelCalls {
  readonly #deadlines: Deadlines
  readonly #calls = new Set<AbortController>()
  #stopped: Error | undefined

  constructor(clock: Clock) {
    this.#deadlines = new Deadlines(clock)
  }

  /**
   * Returns the result. The signal of the work aborts at the deadline, when the caller aborts, and when the product stops.
   * After the deadline, the result is awaited for `graceMs`, and then `timedOut` is returned. In the last two cases, the
   * result is awaited without a limit.
   *
   * @param ms deadline in milliseconds
   * @param outer signal of the caller
   * @param graceMs milliseconds in which the work can still report what it knows, for example that nothing was sent
   * @throws errors of the work
   */
  run<T>(
    ms: number,
    outer: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
    graceMs = 0,
  ): Promise<T | typeof timedOut> {
    const { promise, resolve, reject } = Promise.withResolvers<T | typeof timedOut>()
    const call = new AbortController()
    const giveUp = () => call.abort(outer?.reason)
    const giveUpWait = () => {
      end()
      resolve(timedOut)
    }
    let endWait = this.#deadlines.begin(ms, () => {
      call.abort(new Error(`No response within ${ms} ms`))
      if (graceMs === 0) giveUpWait()
      else endWait = this.#deadlines.begin(graceMs, giveUpWait)
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
    new Promise<T>((response) => response(work(call.signal))).then(
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

  /** Aborts all calls, including those that start later. */
  giveUp(): void {
    this.#stopped = new Error('The product stops')
    for (const call of this.#calls) call.abort(this.#stopped)
  }
}
