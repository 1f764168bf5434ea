import { addToRows, type Database, type RemovedRows, type Selected, selectionOf } from '@plinth/database'
import { AuditCountRow } from '../entities.ts'

/** Columns by which the summary groups audit logs. */
const kind = ['handlingStatus', 'riskLevel', 'chainReorgSuspected'] as const
const counts = selectionOf(AuditCountRow).pick(...kind, 'total')
const kinds = selectionOf(AuditCountRow).pick(...kind)

type AuditKind = Selected<typeof kinds>
export type AuditKindCount = Selected<typeof counts>

const keyOf = ({ handlingStatus, riskLevel, chainReorgSuspected }: AuditKind) =>
  `${handlingStatus} ${riskLevel} ${chainReorgSuspected}`

/**
 * Updates the counts of audit logs. Code that inserts, handles or removes logs calls it in the same transaction, after
 * the logs. The rows are written in a fixed order to prevent deadlocks.
 */
export async function changeAuditCounts(db: Database, changes: readonly AuditKindCount[]): Promise<void> {
  const sums = new Map<string, AuditKindCount>()
  for (const change of changes) {
    const key = keyOf(change)
    sums.set(key, { ...change, total: (sums.get(key)?.total ?? 0) + change.total })
  }
  const rows = [...sums]
    .filter(([, { total }]) => total !== 0)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, count]) => ({ ...count, id: db.newId() }))
  if (rows.length > 0) await addToRows(db, AuditCountRow, { key: kind, sums: ['total'] }, rows)
}

/** Updates the counts when logs are purged. */
export const auditTally = {
  columns: kinds.columns.map(({ name }) => name),
  subtract: (db: Database, groups: readonly RemovedRows[]) =>
    changeAuditCounts(
      db,
      groups.map(({ rows, values }) => ({
        ...kinds.read(values),
        total: -rows,
      })),
    ),
}

export const readAuditCounts = (db: Database): Promise<readonly AuditKindCount[]> => counts.select(db, '')

/** A condition for rows of a table. */
export interface RowsSql {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** Counts a subset of the logs in the same way, row by row. */
export async function countAuditLogs(db: Database, { sql, parameters }: RowsSql): Promise<readonly AuditKindCount[]> {
  const rows = await db.query<object>(
    `select ${kinds.list}, count(*) as total from web3_settlement_audit_log where ${sql} group by ${kinds.list}`,
    parameters,
  )
  return rows.map((row) => counts.read(row))
}
