import { exactInteger, putRows } from '@plinth/database'
import type { PaymentOrder } from '@plinth/money/payments'
import type { Chain } from '@plinth/web3'
import { settlementType } from '../candidates.ts'
import { settlementAtRisk } from '../contract.ts'
import { AuditLog } from '../entities.ts'
import { paymentOf } from '../execution/executor.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { changeAuditCounts } from './audit-counts.ts'
import { assessRisk, type RiskAssessment } from './risk.ts'

/** Which settled orders are looked at. */
export interface AuditScope {
  readonly provider: string
  readonly chainName?: string | undefined
  /** Only orders that were paid before. */
  readonly paidBefore: Date
  readonly afterId?: number | undefined
  /** At most 200. */
  readonly limit: number
  /** Instead of what order and chain say. */
  readonly requiredConfirmations?: number | undefined
}

/** What the chain says now about a payment that was settled. */
export interface AuditFinding extends RiskAssessment {
  readonly outTradeNo: string
  readonly plan: SettlementPlan
  readonly chain: Chain | undefined
}

export interface AuditPage {
  readonly findings: readonly AuditFinding[]
  /** Where the next page begins; null at the end. */
  readonly nextAfterId: number | null
}

type AuditParts = Pick<Parts, 'db' | 'clock' | 'events' | 'payments' | 'candidates'>

/** Pages of orders that are read for one page of an audit. */
const mostRounds = 10

/** Compares settled orders with their chain once more (document 3, settlement rule 5). It changes no order and no transaction. */
export class SettledAudit {
  readonly #parts: AuditParts

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  /** A page of settled orders; writes nothing. */
  async page(scope: AuditScope): Promise<AuditPage> {
    const { orders, nextAfterId } = await this.#settled(scope)
    return { findings: await this.findings(orders, scope.requiredConfirmations), nextAfterId }
  }

  /** Settled orders in the order of their ids. Where few are meant, the page ends early: the next one goes on behind. */
  async #settled(scope: AuditScope): Promise<{ orders: readonly PaymentOrder[]; nextAfterId: number | null }> {
    const { provider, chainName, paidBefore, afterId = 0, limit } = scope
    const orders: PaymentOrder[] = []
    let after = afterId
    for (let round = 0; round < mostRounds; round++) {
      const paid = await this.#parts.payments.paidAfter(provider, after, limit)
      for (const order of paid) {
        after = order.id
        if (chainName !== undefined && order.chainName !== chainName) continue
        if ((order.paidAt ?? Number.POSITIVE_INFINITY) > paidBefore.getTime()) continue
        orders.push(order)
        if (orders.length === limit) return { orders, nextAfterId: after }
      }
      if (paid.length < limit) return { orders, nextAfterId: null }
    }
    return { orders, nextAfterId: after }
  }

  /** What the chain says about these orders, which are paid; at most 200. Writes nothing. */
  async findings(orders: readonly PaymentOrder[], requiredConfirmations?: number): Promise<readonly AuditFinding[]> {
    if (orders.length === 0) return []
    const { payments, candidates } = this.#parts
    const transactions = await payments.transactionsOf({ outTradeNos: orders.map(({ outTradeNo }) => outTradeNo) })
    const settled = new Map(
      transactions.filter(({ type }) => type === settlementType).map((row) => [row.outTradeNo, row]),
    )
    const questions = orders.map((order) => ({
      outTradeNo: order.outTradeNo,
      order,
      transactionHash: settled.get(order.outTradeNo)?.transactionHash,
      pick: { ordinal: settled.get(order.outTradeNo)?.logOrdinal },
      wasMined: true,
      requiredConfirmations,
    }))
    const found = await candidates.ofMany(questions)
    return found.map(({ plan, chain }) => ({ outTradeNo: plan.outTradeNo, plan, chain, ...assessRisk(plan) }))
  }

  /**
   * The scheduled audit: the page behind the one of the last run, from the beginning again at the end, written down.
   *
   * @returns logs that were written
   */
  async run(
    scope: Omit<AuditScope, 'afterId'>,
    rules: { readonly onlyRisky: boolean; readonly notify: boolean },
    signal?: AbortSignal,
  ): Promise<number> {
    const walk = `${scope.provider}:${scope.chainName ?? ''}`
    const afterId = await this.#position(walk)
    const { findings, nextAfterId } = await this.page({ ...scope, afterId })
    // What an ending process could not ask is no finding.
    if (signal?.aborted) return 0
    const worth = findings.filter(({ risky }) => risky || !rules.onlyRisky)
    return this.#parts.db.transactional(async () => {
      // First of all: of two runs at once the second waits here, and then sees what the first has found.
      await this.#moveTo(walk, nextAfterId ?? 0)
      return this.#write(worth, rules.notify)
    })
  }

  /** Leaves out what was found before and somebody has in hand. */
  async #write(findings: readonly AuditFinding[], notify: boolean): Promise<number> {
    const { db, clock, events } = this.#parts
    const last = await this.#lastLogs(findings)
    const fresh = findings
      .filter(({ outTradeNo, riskReasons }) => {
        const log = last.get(outTradeNo)
        return log === undefined || log.handlingStatus === 'resolved' || log.riskReasons.join() !== riskReasons.join()
      })
      .map((finding) => ({ ...finding, id: db.newId() }))
    if (fresh.length === 0) return 0
    const createdAt = new Date(clock.now())
    await db.fork().insertMany(
      AuditLog,
      fresh.map(({ id, outTradeNo, plan, riskReasons, riskLevel, risky, chainReorgSuspected, ...advice }) => ({
        ...{ id, outTradeNo, chainName: plan.chainName, transactionHash: plan.transactionHash },
        ...{ riskReasons: [...riskReasons], riskLevel, risky, chainReorgSuspected },
        suggestedAction: advice.suggestedAction,
        retryable: risky ? advice.retryable : null,
        needsFundReview: risky ? advice.needsFundReview : null,
        confirmationSnapshot: plan,
        handlingStatus: 'open' as const,
        ...{ handledBy: null, handledAt: null, createdAt },
      })),
    )
    await changeAuditCounts(
      db,
      fresh.map(({ riskLevel, chainReorgSuspected }) => ({
        ...{ handlingStatus: 'open', riskLevel, chainReorgSuspected, total: 1 },
      })),
    )
    if (!notify) return fresh.length
    for (const { id, plan, chain, riskLevel, riskReasons, chainReorgSuspected } of fresh) {
      if (riskLevel === 'none') continue
      const payload = { ...paymentOf(plan, chain), riskLevel, riskReasons: [...riskReasons] }
      await events.publish(settlementAtRisk, { ...payload, chainReorgSuspected, auditLogId: id })
    }
    return fresh.length
  }

  /** The newest log of each of these orders that has one. */
  async #lastLogs(findings: readonly AuditFinding[]) {
    const { db } = this.#parts
    const numbers = findings.map(({ outTradeNo }) => outTradeNo)
    if (numbers.length === 0) return new Map<string, Pick<AuditLog, 'handlingStatus' | 'riskReasons'>>()
    const newest = await db.query<{ id: unknown }>(
      `select max(id) as id from web3_settlement_audit_log where out_trade_no in (${numbers.map(() => '?').join(', ')})
       group by out_trade_no`,
      numbers,
    )
    const ids = newest.map(({ id }) => exactInteger(id))
    const fields = ['outTradeNo', 'handlingStatus', 'riskReasons'] as const
    const logs = ids.length === 0 ? [] : await db.fork().find(AuditLog, { id: { $in: ids } }, { fields })
    return new Map(logs.map((log) => [log.outTradeNo, log]))
  }

  async #position(walk: string): Promise<number> {
    const [row] = await this.#parts.db.query<{ after_id: unknown }>(
      'select after_id from web3_settlement_audit_position where walk = ?',
      [walk],
    )
    return row === undefined ? 0 : exactInteger(row.after_id)
  }

  async #moveTo(walk: string, afterId: number): Promise<void> {
    const { db } = this.#parts
    const table = 'web3_settlement_audit_position'
    await putRows(db, { table, columns: ['id', 'walk', 'after_id'], key: 'walk', sets: ['after_id'] }, [
      [db.newId(), walk, afterId],
    ])
  }
}
