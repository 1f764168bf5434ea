import { addToRows, type Database, exactInteger } from '@plinth/database'
import type { SendLogState } from '../entities.ts'

/** What the summary tells rows by: their state, and of the failed ones those that can be sent again. */
export type SendLogKind = SendLogState | 'retryable'
type Changes = Readonly<Partial<Record<SendLogKind, number>>>

const target = { table: 'notification_send_log_count', columns: ['kind', 'total'], key: ['kind'], sums: ['total'] }

/** @param row of the send log; also as a driver gives it */
export function kindOf({ status, restorable }: { readonly status?: unknown; readonly restorable?: unknown }) {
  return status === 'failed' && restorable ? 'retryable' : (status as SendLogState)
}

/** How many rows there are of each kind, for `changeCounts`. */
export function tallied(rows: Iterable<readonly [kind: SendLogKind, rows: number]>): Changes {
  const counts: Partial<Record<SendLogKind, number>> = {}
  for (const [kind, number] of rows) counts[kind] = (counts[kind] ?? 0) + number
  return counts
}

/**
 * Keeps the counts of the send log in step with its rows: whoever writes, changes or removes rows calls it in the same
 * transaction, after the rows, so that no two transactions wait for each other in a circle.
 */
export async function changeCounts(db: Database, changes: Changes): Promise<void> {
  const changed = Object.entries(changes).filter(([, number]) => number !== 0)
  await addToRows(db, target, changed.sort())
}

/** The rows of each kind. */
export async function readCounts(db: Database): Promise<Record<SendLogKind, number>> {
  const rows = await db.query<{ kind: SendLogKind; total: unknown }>(
    'select kind, total from notification_send_log_count',
  )
  const counts = rows.map(({ kind, total }) => [kind, exactInteger(total)])
  const none = { success: 0, failed: 0, retryable: 0, retried: 0, sending: 0, unknown: 0, dead: 0 }
  return { ...none, ...Object.fromEntries(counts) }
}
