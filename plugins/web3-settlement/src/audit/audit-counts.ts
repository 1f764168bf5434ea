import { addToRows, type Database, exactInteger, type RemovedRows } from '@plinth/database'
import { AuditCount, type HandlingStatus } from '../entities.ts'
import type { RiskLevel } from './risk.ts'

/** What the summary tells audit logs by. */
interface AuditKind {
  readonly handlingStatus: HandlingStatus
  readonly riskLevel: RiskLevel
  readonly chainReorgSuspected: boolean
}

export interface AuditKindCount extends AuditKind {
  readonly total: number
}

const kind = ['handlingStatus', 'riskLevel', 'chainReorgSuspected'] as const

const keyOf = ({ handlingStatus, riskLevel, chainReorgSuspected }: AuditKind) =>
  `${handlingStatus} ${riskLevel} ${chainReorgSuspected}`

/**
 * Keeps the counts in step with the logs: whoever writes, handles or removes logs calls it in the same transaction, after the
 * logs. Always in one order, so that no two transactions wait for each other.
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
  if (rows.length > 0) await addToRows(db, AuditCount, { key: kind, sums: ['total'] }, rows)
}

/** For the purge. */
export const auditTally = {
  columns: ['handling_status', 'risk_level', 'chain_reorg_suspected'],
  subtract: (db: Database, groups: readonly RemovedRows[]) =>
    changeAuditCounts(
      db,
      groups.map(({ rows, values }) => ({
        handlingStatus: values['handling_status'] as HandlingStatus,
        riskLevel: values['risk_level'] as RiskLevel,
        chainReorgSuspected: isTrue(values['chain_reorg_suspected']),
        total: -rows,
      })),
    ),
}

export async function readAuditCounts(db: Database): Promise<readonly AuditKindCount[]> {
  const rows = await db.query<Record<string, unknown>>(
    'select handling_status, risk_level, chain_reorg_suspected, total from web3_settlement_audit_count',
  )
  return rows.map(countOf)
}

/** A condition for rows of a table. */
export interface RowsSql {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** The same numbers of some logs, counted one by one. */
export async function countAuditLogs(db: Database, { sql, parameters }: RowsSql): Promise<readonly AuditKindCount[]> {
  const kind = 'handling_status, risk_level, chain_reorg_suspected'
  const rows = await db.query<Record<string, unknown>>(
    `select ${kind}, count(*) as total from web3_settlement_audit_log where ${sql} group by ${kind}`,
    parameters,
  )
  return rows.map(countOf)
}

const countOf = (row: Record<string, unknown>): AuditKindCount => ({
  handlingStatus: row['handling_status'] as HandlingStatus,
  riskLevel: row['risk_level'] as RiskLevel,
  chainReorgSuspected: isTrue(row['chain_reorg_suspected']),
  total: exactInteger(row['total']),
})

/** As a driver gives it. */
const isTrue = (value: unknown) => value === true || Number(value) === 1
