import type { Database } from '@plinth/database'
import type { OutcomeName } from '@plinth/kernel'

/** A delivery of a message that came to an end, or one that is tried again. */
export interface OutcomeChange {
  readonly notificationId: number
  readonly outcome: OutcomeName
  readonly by: 1 | -1
}

const columns = ['accepted', 'rejected', 'deferred', 'unknown'] as const

/**
 * Keeps the counts of a message in step with its deliveries: whoever writes the outcome of a row of the send log calls it in the
 * same transaction, after the rows and before the counts of the log.
 */
export async function changeMessageCounts(db: Database, changes: readonly OutcomeChange[]): Promise<void> {
  const byMessage = new Map<number, Record<OutcomeName, number>>()
  for (const { notificationId, outcome, by } of changes) {
    const counts = byMessage.get(notificationId) ?? { accepted: 0, rejected: 0, deferred: 0, unknown: 0 }
    counts[outcome] += by
    byMessage.set(notificationId, counts)
  }
  const sets = columns.map((column) => `${column} = ${column} + ?`).join(', ')
  for (const [id, counts] of [...byMessage].sort(([a], [b]) => a - b)) {
    const added = columns.map((column) => counts[column])
    await db.execute(`update notification_message set ${sets} where id = ?`, [...added, id])
  }
}
