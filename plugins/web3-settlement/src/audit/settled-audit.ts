import { exactInteger } from '@plinth/database'
import type { PaymentOrder, PaymentTransaction } from '@plinth/money/payments'
import type { Chain } from '@plinth/web3'
import { settlementType } from '../candidates.ts'
import { settlementAtRisk } from '../contract.ts'
import { AuditRow } from '../entities.ts'
import { paymentOf } from '../execution/executor.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { changeAuditCounts } from './audit-logs.ts'
import { assessRisk, type RiskAssessment } from './risk.ts'

interface AuditScope {
  readonly provider: string
  readonly chainName?: string | undefined
  /** The audit includes orders that were paid at this time or before. */
  readonly paidBefore: Date
  readonly afterId?: number | undefined
  /** Maximum number of orders, at most 200. */
  readonly limit: number
  /** Overrides the number of confirmations that order and chain require. */
  readonly requiredConfirmations?: number | undefined
}

export interface AuditFinding extends RiskAssessment {
  readonly outTradeNo: string
  readonly plan: SettlementPlan
  readonly chain: Chain | undefined
}

interface AuditPage {
  readonly findings: readonly AuditFinding[]
  /** `afterId` of the next page; null at the end. */
  readonly nextAfterId: number | null
}

type AuditDependencies = Pick<
  Parts,
  'db' | 'clock' | 'events' | 'payments' | 'candidates' | 'auditWalk' | 'finalConfirmations'
>

/** Maximum number of reads to fill a page. */
const maxRounds = 10

/**
 * Compares settled orders with their chains again (document 3 of the specification, settlement rule 5). Never changes
 * an order or payment.
 */
export class SettledAudit {
  readonly #parts: AuditDependencies

  constructor(parts: AuditDependencies) {
    this.#parts = parts
  }

  /** Audits a page of settled orders. Writes nothing. */
  async page(scope: AuditScope): Promise<AuditPage> {
    const { orders, nextAfterId } = await this.#settled(scope)
    return { findings: await this.findings(orders, scope.requiredConfirmations), nextAfterId }
  }

  /**
   * Returns a page of settled orders. It may be shorter than `limit`; `nextAfterId` tells whether more orders follow.
   */
  async #settled(scope: AuditScope): Promise<{ orders: readonly PaymentOrder[]; nextAfterId: number | null }> {
    const { provider, chainName, paidBefore, afterId = 0, limit } = scope
    const orders: PaymentOrder[] = []
    let after = afterId
    for (let round = 0; round < maxRounds; round++) {
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

  /** Compares settled orders with their chains. Writes nothing. @param orders at most 200 */
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
    return found.map(({ plan, chain }) => {
      const moved = isMoved(settled.get(plan.outTradeNo), plan) ? (['transfer-moved'] as const) : []
      return { outTradeNo: plan.outTradeNo, plan, chain, ...assessRisk({ reasons: [...plan.reasons, ...moved] }) }
    })
  }

  /** Audits the orders of `AuditOrderSelection`. @returns the number of new logs */
  async run(
    scope: Omit<AuditScope, 'afterId'>,
    rules: { readonly onlyRisky: boolean; readonly notify: boolean },
    signal?: AbortSignal,
  ): Promise<number> {
    const { db, auditWalk } = this.#parts
    const { orders, fromFloor, places } = await auditWalk.next(scope)
    const findings = await this.findings(orders, scope.requiredConfirmations)
    // The results of an aborted run may be incomplete, so they are not stored.
    if (signal?.aborted) return 0
    const worth = findings.filter(({ risky }) => risky || !rules.onlyRisky)
    return db.transactional(async () => {
      // A concurrent run waits here, and then sees the logs of this run.
      await auditWalk.move(scope, places)
      const last = await this.#lastLogs(worth)
      const floor = this.#floorOf(scope, fromFloor, findings, last)
      if (floor !== undefined) await auditWalk.move(scope, { ...places, floor: { afterId: floor, afterAt: null } })
      return this.#write(worth, last, rules.notify)
    })
  }

  /**
   * Returns the id of the last order before the first one that still needs an audit; undefined if the first order needs
   * one.
   */
  #floorOf(
    { chainName }: Pick<AuditScope, 'chainName'>,
    orders: readonly PaymentOrder[],
    findings: readonly AuditFinding[],
    last: LastLogs,
  ): number | undefined {
    const byOrder = new Map(findings.map((finding) => [finding.outTradeNo, finding]))
    const isDone = (order: PaymentOrder) => {
      if (chainName !== undefined && order.chainName !== chainName) return true
      const finding = byOrder.get(order.outTradeNo)
      if (finding === undefined) return false
      const log = last.get(order.outTradeNo)
      if (log?.handlingStatus === 'ignored' && hasSameReasons(log, finding)) return true
      const isSound = finding.riskReasons.every((reason) => reason === 'transfer-moved')
      const { confirmations } = finding.plan
      const isDeep = confirmations !== null && confirmations >= this.#parts.finalConfirmations()
      return isSound && (isDeep || finding.chain?.finality === 'finalized')
    }
    const firstOpen = orders.findIndex((order) => !isDone(order))
    return orders[(firstOpen < 0 ? orders.length : firstOpen) - 1]?.id
  }

  /** Writes logs for findings. Skips an order whose last log has the same reasons and is open or ignored. */
  async #write(findings: readonly AuditFinding[], last: LastLogs, notify: boolean): Promise<number> {
    const { db, clock, events } = this.#parts
    const fresh = findings
      .filter((finding) => {
        const log = last.get(finding.outTradeNo)
        if (log === undefined || !hasSameReasons(log, finding)) return true
        // An operator has already handled this move of the payment to another block, and it did not move again.
        const isSeen = finding.riskReasons.join() === 'transfer-moved' && isSameBlock(log, finding)
        return log.handlingStatus === 'resolved' && !isSeen
      })
      .map((finding) => ({ ...finding, id: db.newId() }))
    if (fresh.length === 0) return 0
    const createdAt = new Date(clock.now())
    await db.fork().insertMany(
      AuditRow,
      fresh.map(({ id, outTradeNo, plan, riskReasons, riskLevel, risky, chainReorgSuspected, ...advice }) => ({
        id,
        outTradeNo,
        chainName: plan.chainName,
        transactionHash: plan.transactionHash,
        riskReasons: [...riskReasons],
        riskLevel,
        risky,
        chainReorgSuspected,
        suggestedAction: advice.suggestedAction,
        retryable: risky ? advice.retryable : null,
        needsFundReview: risky ? advice.needsFundReview : null,
        confirmationSnapshot: plan,
        handlingStatus: 'open' as const,
        handledBy: null,
        handledAt: null,
        createdAt,
      })),
    )
    await changeAuditCounts(
      db,
      fresh.map(({ riskLevel, chainReorgSuspected }) => ({
        handlingStatus: 'open',
        riskLevel,
        chainReorgSuspected,
        total: 1,
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

  async #lastLogs(findings: readonly AuditFinding[]): Promise<LastLogs> {
    const { db } = this.#parts
    const numbers = findings.map(({ outTradeNo }) => outTradeNo)
    if (numbers.length === 0) return new Map()
    const newest = await db.query<{ id: unknown }>(
      `select max(id) as id from web3_settlement_audit_log where out_trade_no in (${numbers.map(() => '?').join(', ')})
       group by out_trade_no`,
      numbers,
    )
    const ids = newest.map(({ id }) => exactInteger(id))
    const fields = ['outTradeNo', 'handlingStatus', 'riskReasons', 'confirmationSnapshot'] as const
    const logs = ids.length === 0 ? [] : await db.fork().find(AuditRow, { id: { $in: ids } }, { fields })
    return new Map(logs.map((log) => [log.outTradeNo, log]))
  }
}

type LastLogs = ReadonlyMap<string, Pick<AuditRow, 'handlingStatus' | 'riskReasons' | 'confirmationSnapshot'>>

const hasSameReasons = (log: Pick<AuditRow, 'riskReasons'>, finding: AuditFinding) =>
  log.riskReasons.join() === finding.riskReasons.join()

const isSameBlock = ({ confirmationSnapshot }: Pick<AuditRow, 'confirmationSnapshot'>, { plan }: AuditFinding) =>
  confirmationSnapshot.transfer?.blockHash === plan.transfer?.blockHash

/** True if the transfer is now in another block or at another position. */
function isMoved(settled: PaymentTransaction | undefined, { transfer }: SettlementPlan): boolean {
  const { blockHash, logIndex } = settled?.facts ?? {}
  if (transfer === null || typeof blockHash !== 'string') return false
  return transfer.blockHash !== blockHash || (typeof logIndex === 'number' && transfer.logIndex !== logIndex)
}
