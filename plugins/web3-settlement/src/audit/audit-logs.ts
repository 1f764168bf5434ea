import {
  type Database,
  type FoundPage,
  findPage,
  insertOrAddToRows,
  type PageWindow,
  type RemovedRows,
  type Selected,
  selectionOf,
} from '@plinth/database'
import { bulkResultOf, type RowOutcome } from '@plinth/http'
import { businessError } from '../declarations.ts'
import { AuditCountRow, AuditRow, type HandlingStatus } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { type RiskLevel, type SuggestedAction, suggestedActions } from './risk.ts'
import type { AuditFinding } from './settled-audit.ts'

const kind = ['handlingStatus', 'riskLevel', 'chainReorgSuspected'] as const
const counts = selectionOf(AuditCountRow).pick(...kind, 'total')
const kinds = selectionOf(AuditCountRow).pick(...kind)

type AuditKind = Selected<typeof kinds>
export type AuditKindCount = Selected<typeof counts>

const keyOf = ({ handlingStatus, riskLevel, chainReorgSuspected }: AuditKind) =>
  `${handlingStatus} ${riskLevel} ${chainReorgSuspected}`

/**
 * Adds changes to the stored counts of audit logs. Call it at the end of the transaction that inserts, handles or
 * removes the logs. A fixed order of rows prevents deadlocks.
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
  if (rows.length > 0) await insertOrAddToRows(db, AuditCountRow, { key: kind, sums: ['total'] }, rows)
}

export const auditCountUpdate = {
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

const readAuditCounts = (db: Database): Promise<readonly AuditKindCount[]> => counts.select(db, '')

export interface RowsSql {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/** Counts rows of audit logs. Unlike `readAuditCounts`, it does not use the stored counts. */
async function countAuditLogs(db: Database, { sql, parameters }: RowsSql): Promise<readonly AuditKindCount[]> {
  const rows = await db.query<object>(
    `select ${kinds.list}, count(*) as total from web3_settlement_audit_log where ${sql} group by ${kinds.list}`,
    parameters,
  )
  return rows.map((row) => counts.read(row))
}

interface CandidateFilter {
  readonly riskLevel?: Exclude<RiskLevel, 'none'> | undefined
  readonly retryable?: boolean | undefined
  readonly needsManualReview?: boolean | undefined
  readonly needsFundReview?: boolean | undefined
}

export interface CompensationPlan {
  readonly log: AuditRow
  /** Result of a new comparison with the chain. Null if the chain was not queried. */
  readonly finding: AuditFinding | null
}

type AuditLogDependencies = Pick<Parts, 'db' | 'clock' | 'payments' | 'audit'>

interface Traits {
  readonly riskLevel: Exclude<RiskLevel, 'none'>
  readonly retryable: boolean
  readonly needsManualReview: boolean
  readonly needsFundReview: boolean
}

const traitNames = [
  'riskLevel',
  'retryable',
  'needsManualReview',
  'needsFundReview',
] as const satisfies (keyof Traits)[]

/** Values of the filters for each suggested action. */
const traits: Readonly<Record<SuggestedAction, Traits | undefined>> = {
  'mark-resolved': undefined,
  'wait-confirmations': { riskLevel: 'medium', retryable: true, needsManualReview: false, needsFundReview: false },
  'recheck-later': { riskLevel: 'low', retryable: true, needsManualReview: false, needsFundReview: false },
  'manual-review': { riskLevel: 'high', retryable: false, needsManualReview: true, needsFundReview: false },
  'manual-compensation': { riskLevel: 'high', retryable: false, needsManualReview: true, needsFundReview: true },
}

/**
 * Reads and closes audit logs. The parameter `rows` is the condition `callerLogs(request)`. Logs that it excludes are
 * treated as unknown.
 */
export class AuditLogStore {
  readonly #parts: AuditLogDependencies

  constructor(parts: AuditLogDependencies) {
    this.#parts = parts
  }

  list(
    where: Partial<Pick<AuditRow, 'outTradeNo' | 'handlingStatus'>>,
    rows: object,
    window: PageWindow,
  ): Promise<FoundPage<AuditRow>> {
    return findPage(this.#parts.db.fork(), AuditRow, { $and: [where, rows] }, window)
  }

  /** @throws BusinessError "404" `web3-settlement.audit-log-unknown` */
  async get(id: number, rows: object): Promise<AuditRow> {
    const log = await this.#parts.db.fork().findOne(AuditRow, { $and: [{ id }, rows] })
    if (log === null) throw businessError('audit-log-unknown')
    return log
  }

  /** Returns open logs that match a filter. For each combination of filters, the query uses one index. */
  async candidates(filter: CandidateFilter, rows: object, window: PageWindow): Promise<FoundPage<AuditRow>> {
    const where = whereOf(filter)
    if (where === undefined)
      return { items: [], total: window.count === 'none' ? null : 0, isCapped: false, next: null }
    return findPage(this.#parts.db.fork(), AuditRow, { $and: [{ handlingStatus: 'open', ...where }, rows] }, window)
  }

  /** Returns the number of logs of each kind. @param rows logs to count; default: the stored counts of all logs */
  counts(rows?: RowsSql): Promise<readonly AuditKindCount[]> {
    return rows === undefined ? readAuditCounts(this.#parts.db) : countAuditLogs(this.#parts.db, rows)
  }

  /**
   * Compares the orders of these logs with their chains again. Writes nothing.
   *
   * @param ids at most 200
   * @throws BusinessError "404" `web3-settlement.audit-log-unknown`, "404" `web3-settlement.order-unknown`
   */
  async recheck(
    ids: readonly number[],
    rows: object,
  ): Promise<readonly (CompensationPlan & { readonly finding: AuditFinding })[]> {
    const logs = await this.#find(ids, rows)
    const { payments, audit } = this.#parts
    const numbers = [...new Set(logs.map(({ outTradeNo }) => outTradeNo))]
    const orders = await payments.findMany(numbers)
    const found = await audit.findings([...orders.values()])
    const byOrder = new Map(found.map((finding) => [finding.outTradeNo, finding]))
    return logs.map((log) => {
      const finding = byOrder.get(log.outTradeNo)
      if (finding === undefined) throw businessError('order-unknown')
      return { log, finding }
    })
  }

  /**
   * Returns logs with advice. With `recheck`, the advice is based on the current state of the chain. Writes nothing.
   *
   * @throws the errors of `recheck`
   */
  async plans(ids: readonly number[], recheck: boolean, rows: object): Promise<readonly CompensationPlan[]> {
    if (recheck) return this.recheck(ids, rows)
    return (await this.#find(ids, rows)).map((log) => ({ log, finding: null }))
  }

  /**
   * Closes logs that an operator has handled. This moves no money.
   *
   * @returns the number of closed logs
   */
  async close(ids: readonly number[], status: Exclude<HandlingStatus, 'open'>, handledBy: string, rows: object) {
    const { db, clock } = this.#parts
    return db.transactional(async (em) => {
      const outcomes = new Map<number, RowOutcome>()
      const among = { $and: [{ id: { $in: [...new Set(ids)] } }, rows] }
      const logs = await em.find(AuditRow, among, { orderBy: { id: 'asc' } })
      const changes: AuditKindCount[] = []
      for (const { id, riskLevel, chainReorgSuspected } of logs) {
        const closed = await db.execute(
          `update web3_settlement_audit_log set handling_status = ?, handled_by = ?, handled_at = ?
           where id = ? and handling_status = 'open'`,
          [status, handledBy, new Date(clock.now()), id],
        )
        outcomes.set(id, closed === 0 ? 'unchanged' : 'done')
        if (closed === 0) continue
        changes.push({ handlingStatus: 'open', riskLevel, chainReorgSuspected, total: -1 })
        changes.push({ handlingStatus: status, riskLevel, chainReorgSuspected, total: 1 })
      }
      await changeAuditCounts(db, changes)
      return bulkResultOf(ids, (id) => outcomes.get(id) ?? 'unknown')
    })
  }

  async #find(ids: readonly number[], rows: object): Promise<readonly AuditRow[]> {
    const expected = [...new Set(ids)]
    const found = await this.#parts.db.fork().find(AuditRow, { $and: [{ id: { $in: expected } }, rows] })
    const byId = new Map(found.map((log) => [log.id, log]))
    return expected.map((id) => {
      const log = byId.get(id)
      if (log === undefined) throw businessError('audit-log-unknown', { data: { id } })
      return log
    })
  }
}

/** Undefined if no log can match all filters. */
function whereOf(filter: CandidateFilter): object | undefined {
  const requested = traitNames.filter((name) => filter[name] !== undefined)
  const actions = suggestedActions.filter((action) => {
    const has = traits[action]
    return has !== undefined && requested.every((name) => has[name] === filter[name])
  })
  const [only, ...others] = actions
  if (only === undefined) return undefined
  if (others.length === 0) return { suggestedAction: only }
  const is = (expected: (trait: Traits) => boolean) =>
    suggestedActions.every((action) => {
      const has = traits[action]
      return has === undefined || actions.includes(action) === expected(has)
    })
  if (is(({ retryable }) => retryable)) return { retryable: true }
  if (is(({ retryable }) => !retryable)) return { retryable: false }
  if (is(({ needsFundReview }) => !needsFundReview)) return { needsFundReview: false }
  return { risky: true }
}
