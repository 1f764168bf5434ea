import { type Clock, type Logger, reasonOf } from '@plinth/kernel'

export interface PollOptions {
  /** Read before each pause. */
  readonly intervalMs: () => number
  readonly work: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

/** Does the work at once and then again and again. A failure is logged when it begins, and the work goes on. */
export function follow({ intervalMs, work, clock, log }: PollOptions) {
  const end = new AbortController()
  let pause = new AbortController()
  let running: Promise<void> | undefined
  const run = async () => {
    let isFailing = false
    while (!end.signal.aborted) {
      pause = new AbortController()
      try {
        await work()
        if (isFailing) log.info('stored configuration can be read again')
        isFailing = false
      } catch (error) {
        if (!isFailing) log.error({ reason: reasonOf(error) }, 'stored configuration cannot be read; trying again')
        isFailing = true
      }
      await clock.sleep(intervalMs(), AbortSignal.any([end.signal, pause.signal]))
    }
  }
  return {
    start(): void {
      running ??= run()
    },
    /** Does the work at once; once more when it is being done, because that may have begun too early. */
    wake(): void {
      pause.abort()
    },
    async stop(): Promise<void> {
      end.abort()
      await running
    },
  }
}
