import { type Database, exactInteger } from '@plinth/database'
import type { Events } from '@plinth/events'
import { scheduledTaskFailed } from './contract.ts'
import type { Claim } from './task-rows.ts'

/** Tells the failure of a run; to be called in the transaction that records it. */
export type PublishFailure = (claim: Claim, error: string) => Promise<void>

export function failureEvents(bus: Events, db: Database): PublishFailure {
  return async ({ key: task, startedAt }, error) => {
    const [row] = await db.query<{ total: number | string }>(
      `select count(*) as total from scheduler_run where task = ? and outcome = 'failed'
         and id > (select coalesce(max(id), 0) from scheduler_run where task = ? and outcome = 'succeeded')`,
      [task, task],
    )
    await bus.publish(scheduledTaskFailed, {
      task,
      error,
      startedAt: startedAt.toISOString(),
      consecutiveFailures: exactInteger(row?.total),
    })
  }
}
