import { type Clock, type HealthCheck, type Logger, reasonOf, withinDeadline } from '@plinth/kernel'
import type { Health, HealthOutcome } from './contract.ts'

/** Asks every health check, all at once, each within the deadline. Callers that come together share one answer. */
export interface Readiness extends Health {
  /** Whether the product can do its work now. */
  isReady(): Promise<boolean>
}

export function createReadiness(
  checks: () => ReadonlyMap<string, HealthCheck>,
  settings: { readonly deadlineMs: number; readonly clock: Clock; readonly log: Logger },
): Readiness {
  const { deadlineMs, clock, log } = settings
  let running: Promise<readonly HealthOutcome[]> | undefined
  let reported = JSON.stringify({})

  const late = () => new Error(`no answer within ${deadlineMs} ms`)
  const judge = (check: HealthCheck) => withinDeadline(clock, deadlineMs, check, late).then(() => undefined, reasonOf)

  const ask = async (): Promise<readonly HealthOutcome[]> => {
    const outcomes = await Promise.all(
      [...checks()].map(async ([name, check]) => ({ name, reason: await judge(check) })),
    )
    const failed = Object.fromEntries(
      outcomes.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const])),
    )
    const report = JSON.stringify(failed)
    // Probes come every few seconds: only a change is news.
    if (report !== reported) {
      reported = report
      if (Object.keys(failed).length > 0) log.warn({ failed }, 'not ready')
      else log.info('ready again')
    }
    return outcomes
  }

  const outcomes = () => {
    running ??= ask().finally(() => {
      running = undefined
    })
    return running
  }
  return { outcomes, isReady: async () => (await outcomes()).every(({ reason }) => reason === undefined) }
}
