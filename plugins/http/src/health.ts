import { type Clock, type HealthCheck, type Logger, reasonOf, withinDeadline } from '@plinth/kernel'

/** Asks every health check, all at once, each within the deadline. */
export interface Readiness {
  /** Whether the product can do its work now. Callers that come together share one answer. */
  isReady(): Promise<boolean>
}

export function createReadiness(
  checks: () => ReadonlyMap<string, HealthCheck>,
  settings: { readonly deadlineMs: number; readonly clock: Clock; readonly log: Logger },
): Readiness {
  const { deadlineMs, clock, log } = settings
  let running: Promise<boolean> | undefined
  let reported = JSON.stringify({})

  const late = () => new Error(`no answer within ${deadlineMs} ms`)
  const judge = (check: HealthCheck) => withinDeadline(clock, deadlineMs, check, late).then(() => undefined, reasonOf)

  const ask = async (): Promise<boolean> => {
    const outcomes = await Promise.all([...checks()].map(async ([name, check]) => [name, await judge(check)] as const))
    const failed = Object.fromEntries(outcomes.filter(([, reason]) => reason !== undefined))
    const report = JSON.stringify(failed)
    // Probes come every few seconds: only a change is news.
    if (report !== reported) {
      reported = report
      if (Object.keys(failed).length > 0) log.warn({ failed }, 'not ready')
      else log.info('ready again')
    }
    return Object.keys(failed).length === 0
  }

  return {
    isReady() {
      running ??= ask().finally(() => {
        running = undefined
      })
      return running
    },
  }
}
