import { type Database, exactInteger, insertOrAddToRows } from '@plinth/database'
import type { OutcomeName } from '@plinth/kernel'
import { SendLogCountRow, type SendLogState } from '../entities.ts'

/**
 * Change of the counts of a message: a send has ended (1), or its outcome no longer counts because it is repeated (-1).
 */
export interface OutcomeChange {
  readonly notificationId: number
  readonly outcome: OutcomeName
  readonly by: 1 | -1
}

const columns = ['accepted', 'rejected', 'deferred', 'unknown'] as const

/**
 * Adds outcomes to the counts of messages. Call it in the transaction that writes the outcomes to the send log, after
 * the rows and before `changeCounts`.
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

/** Kind of a row for its count. `retryable`: failed rows that can be sent again. */
export type SendLogKind = SendLogState | 'retryable'
type Changes = Readonly<Partial<Record<SendLogKind, number>>>

/** Returns the kind of a row. @param row `restorable` may be the number that a database driver returns */
export const sendLogKindOf = (row: { readonly status: SendLogState; readonly restorable?: unknown }): SendLogKind =>
  row.status === 'failed' && row.restorable ? 'retryable' : row.status

export function countsByKind(rows: Iterable<readonly [kind: SendLogKind, rows: number]>): Changes {
  const counts: Partial<Record<SendLogKind, number>> = {}
  for (const [kind, number] of rows) counts[kind] = (counts[kind] ?? 0) + number
  return counts
}

/**
 * Changes the stored counts. Call it after writing the rows, in the same transaction. The fixed order of the counts
 * prevents deadlocks.
 */
export async function changeCounts(db: Database, changes: Changes): Promise<void> {
  const changed = Object.entries(changes).filter(([, number]) => number !== 0)
  const rows = changed.sort().map(([kind, total]) => ({ kind, total }))
  await insertOrAddToRows(db, SendLogCountRow, { key: 'kind', sums: ['total'] }, rows)
}

export interface RowsSql {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** Counts rows of the send log. Unlike `readCounts`, it does not use the stored counts. */
export async function countKinds(db: Database, { sql, parameters }: RowsSql): Promise<Record<SendLogKind, number>> {
  const rows = await db.query<{ status: SendLogState; restorable: unknown; total: unknown }>(
    `select status, restorable, count(*) as total from notification_send_log where ${sql} group by status, restorable`,
    parameters,
  )
  const counts = { success: 0, failed: 0, retryable: 0, waiting: 0, retried: 0, sending: 0, unknown: 0, dead: 0 }
  for (const row of rows) counts[sendLogKindOf(row)] += exactInteger(row.total)
  return counts
}

export async function readCounts(db: Database): Promise<Record<SendLogKind, number>> {
  const rows = await db.query<{ kind: SendLogKind; total: unknown }>(
    'select kind, total from notification_send_log_count',
  )
  const counts = rows.map(({ kind, total }) => [kind, exactInteger(total)])
  const none = { success: 0, failed: 0, retryable: 0, waiting: 0, retried: 0, sending: 0, unknown: 0, dead: 0 }
  return { ...none, ...Object.fromEntries(counts) }
}
