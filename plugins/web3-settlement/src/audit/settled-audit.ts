import { type Database, exactInteger, putRows } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Clock } from '@plinth/kernel'
import type { PaymentOrder, Payments } from '@plinth/money/payments'
import type { Chain } from '@plinth/web3'
import { type Candidates, settlementType } from '../candidates.ts'
import { settlementAtRisk } from '../contract.ts'
import { AuditLog } from '../entities.ts'
import { paymentOf } from '../execution/executor.ts'
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

interface AuditParts {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly events: Pick<Events, 'publish'>
  readonly payments: Payments
  readonly candidates: Candidates
}

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
    let after: readonly number[] = [afterId]
    for (let round = 0; round < mostRounds; round++) {
      const { items, next } = await this.#parts.payments.list(
        { status: 'success', provider },
        { orderBy: [{ property: 'id', direction: 'asc' }], size: limit, offset: 0, after, count: 'none' },
      )
      for (const order of items) {
        if (chainName !== undefined && order.chainName !== chainName) continue
        if ((order.paidAt ?? Number.POSITIVE_INFINITY) > paidBefore.getTime()) continue
        orders.push(order)
        if (orders.length === limit) return { orders, nextAfterId: order.id }
      }
      const last = items.at(-1)
      if (next === null || last === undefined) return { orders, nextAfterId: null }
      after = [last.id]
    }
    return { orders, nextAfterId: after[0] ?? null }
  }

  /** What the chain says about these orders, which are paid; at most 200. Writes nothing. */
  async findings(orders: readonly PaymentOrder[], requiredConfirmations?: number): Promise<readonly AuditFinding[]> {
    if (orders.length === 0) return []
    const { payments, candidates } = this.#parts
    const transactions = await payments.transactionsOf({ outTradeNos: orders.map(({ outTradeNo }) => outTradeNo) })
    const settled = new Map(
      transactions.filter(({ type }) => type === settlementType).map((row) => [row.outTradeNo, row]),
    )
    const questions = orders.map(({ outTradeNo }) => ({
      outTradeNo,
      transactionHash: settled.get(outTradeNo)?.transactionHash,
      pick: { ordinal: settled.get(outTradeNo)?.logOrdinal },
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
    let written = 0
    for (const finding of findings) {
      if (finding.risky || !rules.onlyRisky) written += (await this.#write(finding, rules.notify)) ? 1 : 0
    }
    await this.#moveTo(walk, nextAfterId ?? 0)
    return written
  }

  /** False when the same was found before and somebody has it in hand. */
  async #write(finding: AuditFinding, notify: boolean): Promise<boolean> {
    const { db, clock, events } = this.#parts
    const { outTradeNo, plan, riskReasons, riskLevel, risky, chainReorgSuspected } = finding
    return db.transactional(async (em) => {
      const [last] = await em.find(AuditLog, { outTradeNo }, { orderBy: { id: 'desc' }, limit: 1 })
      if (last !== undefined && last.handlingStatus !== 'resolved') {
        if (last.riskReasons.join() === riskReasons.join()) return false
      }
      const id = db.newId()
      await em.insert(AuditLog, {
        ...{ id, outTradeNo, chainName: plan.chainName, transactionHash: plan.transactionHash },
        ...{ riskReasons: [...riskReasons], riskLevel, risky, chainReorgSuspected },
        suggestedAction: finding.suggestedAction,
        retryable: risky ? finding.retryable : null,
        needsFundReview: risky ? finding.needsFundReview : null,
        confirmationSnapshot: plan,
        handlingStatus: 'open',
        ...{ handledBy: null, handledAt: null },
        createdAt: new Date(clock.now()),
      })
      await changeAuditCounts(db, [{ handlingStatus: 'open', riskLevel, chainReorgSuspected, total: 1 }])
      if (riskLevel !== 'none' && notify) {
        const payload = { ...paymentOf(plan, finding.chain), riskLevel, riskReasons: [...riskReasons] }
        await events.publish(settlementAtRisk, { ...payload, chainReorgSuspected, auditLogId: id })
      }
      return true
    })
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
