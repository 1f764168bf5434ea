import { settlementFailed } from '@plinth/events'
import { columnText } from '@plinth/kernel'
import type { Chain } from '@plinth/web3'
import { type Candidate, settlementType } from '../candidates.ts'
import { settlementNotExecuted, settlementSucceeded } from '../contract.ts'
import { CallbackLog, type ReviewLog, type SettlementOutcome, type SettlementTrigger } from '../entities.ts'
import { explorerUrlOf } from '../notices/explorer-url.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { type BlockingReason, blockingReasons, type CandidateState } from '../planning/reasons.ts'
import { isSettling, type Reviewer, wasMined } from '../reviews/review-logs.ts'

/** What became of one try to settle. */
export interface SettlementResult {
  readonly reviewLogId: number
  readonly outTradeNo: string
  readonly outcome: SettlementOutcome
  readonly state: CandidateState
  /** All that stood against it, in the order of the document; empty when settled. */
  readonly reasons: readonly BlockingReason[]
  readonly plan: SettlementPlan
}

type ExecutorParts = Pick<
  Parts,
  'db' | 'clock' | 'log' | 'events' | 'payments' | 'candidates' | 'reviews' | 'retryDelayMs'
>

/** What was asked of a chain longer ago decides nothing (reference, "Executor"). */
const longestPlanAgeMs = 10_000

/** Reasons that time, and nothing but time, may mend. */
const passing: ReadonlySet<BlockingReason> = new Set([
  'order-update-conflict',
  'chain-not-configured',
  'chain-transaction-not-mined',
  'chain-confirmations-insufficient',
  'applier-not-available',
  'rpc-query-failed',
])

/** Ends a transaction that must leave nothing. */
class Skipped extends Error {
  readonly reason: BlockingReason
  constructor(reason: BlockingReason) {
    super(reason)
    this.reason = reason
  }
}

/** What a settlement answers at execution for what a plan calls by another name (decision D40). */
const atExecution: Partial<Record<BlockingReason, BlockingReason>> = {
  'local-order-not-settleable': 'order-not-settleable',
}

/** The one way in which an order becomes paid by a transaction of a chain. */
export class Executor {
  readonly #parts: ExecutorParts

  constructor(parts: ExecutorParts) {
    this.#parts = parts
  }

  /**
   * Looks at chain and order again, compares with what was reviewed, and settles in one transaction: order, payment transaction, the
   * handler of the order's scene, logs and events, all or nothing. What stands against it is answered, not thrown, and changes no
   * order. Two at once, on whatever instances: one settles.
   *
   * @param log as it was read; whether it may be settled has been approved
   */
  async execute(log: ReviewLog, trigger: SettlementTrigger, reviewer: Reviewer): Promise<SettlementResult> {
    const candidate = await this.#parts.candidates.of({
      outTradeNo: log.outTradeNo,
      transactionHash: log.transactionHash,
      pick: { logIndex: log.logIndex },
      wasMined: wasMined(log),
    })
    const found = this.#against(log, candidate)
    if (found.length > 0) return this.#refuse(log, candidate, trigger, reviewer, 'skipped', found)
    try {
      await this.#settle(log, candidate, trigger, reviewer)
    } catch (error) {
      if (error instanceof Skipped) {
        return this.#refuse(log, candidate, trigger, reviewer, 'skipped', [error.reason])
      }
      const { outTradeNo, id: reviewLogId } = log
      this.#parts.log.error({ err: error, outTradeNo, reviewLogId }, 'A settlement failed and left nothing behind')
      return this.#refuse(log, candidate, trigger, reviewer, 'failed', ['applier-not-available'])
    }
    const { id: reviewLogId, outTradeNo } = log
    return { reviewLogId, outTradeNo, outcome: 'settled', state: 'settled', reasons: [], plan: candidate.plan }
  }

  /** All that stands against it before anything is written. */
  #against(log: ReviewLog, { plan, askedAt }: Candidate): readonly BlockingReason[] {
    const found = new Set(plan.reasons.map((reason) => atExecution[reason] ?? reason))
    // Without an answer of the chain there is nothing to compare.
    const isComparable = plan.state !== 'failed' && !found.has('local-order-already-paid')
    if (isComparable && plan.fingerprint !== log.reviewFingerprint) found.add('review-fingerprint-mismatched')
    if (this.#parts.clock.monotonic() - askedAt > longestPlanAgeMs) found.add('rpc-query-failed')
    if (found.size === 0 && plan.state !== 'ready') found.add('review-fingerprint-mismatched')
    return blockingReasons.filter((reason) => found.has(reason))
  }

  async #settle(log: ReviewLog, candidate: Candidate, trigger: SettlementTrigger, reviewer: Reviewer): Promise<void> {
    const { db, payments, reviews, events } = this.#parts
    const { plan, order, chain } = candidate
    const { transfer, transactionHash, chainName, eventKey } = plan
    if (
      order === undefined ||
      transfer === null ||
      transactionHash === null ||
      chainName === null ||
      eventKey === null
    ) {
      throw new Skipped('transfer-missing')
    }
    await db.transactional(async () => {
      await this.#claim(log)
      const { blockNumber, blockHash, logIndex, logOrdinal, from, to, token, value } = transfer
      const result = await payments.settle({
        outTradeNo: log.outTradeNo,
        type: settlementType,
        transactionHash,
        expectedVersion: order.version,
        ...{ eventKey, chainName, logOrdinal },
        facts: {
          ...{ blockNumber, blockHash, logIndex, from, to, token, value },
          ...{ confirmations: plan.confirmations, requiredConfirmations: plan.requiredConfirmations },
          ...{ providerId: plan.providerId, reviewFingerprint: log.reviewFingerprint },
        },
      })
      if (result.outcome === 'skipped') {
        throw new Skipped(result.reason === 'handler-missing' ? 'applier-not-available' : result.reason)
      }
      await db.execute(
        "update web3_settlement_review_log set state = 'settled', status = 'settled', retryable = ?, retry_at = ? where id = ?",
        [false, null, log.id],
      )
      const action = trigger === 'auto-retry' ? 'auto-retry' : 'settle'
      await reviews.insert(plan, {
        ...{ action, status: 'settled', state: 'settled', reviewer },
        ...{ logIndex: log.logIndex ?? null, sourceLogId: log.id },
      })
      await this.#note(log, plan, trigger, reviewer, 'settled', [])
      const payload = { ...paymentOf(plan, chain), eventKey, reviewLogId: log.id }
      await events.publish(settlementSucceeded, payload, { key: `order:${log.outTradeNo}` })
    })
  }

  /** One of those that settle the same log goes on; the candidate is `settling` until it commits. */
  async #claim({ id, version, outTradeNo }: ReviewLog): Promise<void> {
    const { db, payments } = this.#parts
    const claimed = await db.execute(
      "update web3_settlement_review_log set state = 'settling', version = version + 1 where id = ? and version = ?",
      [id, version],
    )
    if (claimed > 0) return
    const order = await payments.find(outTradeNo)
    throw new Skipped(order?.status === 'success' ? 'local-order-already-paid' : 'order-update-conflict')
  }

  /** Writes down that nothing was settled, and when it is tried again. */
  async #refuse(
    log: ReviewLog,
    { plan, chain }: Candidate,
    trigger: SettlementTrigger,
    reviewer: Reviewer,
    outcome: 'skipped' | 'failed',
    reasons: readonly BlockingReason[],
  ): Promise<SettlementResult> {
    const { db, clock, events, reviews, retryDelayMs } = this.#parts
    const mayPass = isSettling(log.action) && reasons.every((reason) => passing.has(reason))
    await db.transactional(async () => {
      await db.execute(
        `update web3_settlement_review_log set retry_at = ?, retryable = ?
         where id = ? and status in ('open', 'approved')`,
        [mayPass ? new Date(clock.now() + retryDelayMs()) : null, mayPass && log.candidate, log.id],
      )
      if (trigger === 'auto-retry') {
        await reviews.insert(plan, {
          ...{ action: 'auto-retry', status: 'noted', reviewer },
          ...{ logIndex: log.logIndex ?? null, sourceLogId: log.id, reviewFingerprint: log.reviewFingerprint },
        })
      }
      const callbackLogId = await this.#note(log, plan, trigger, reviewer, outcome, reasons)
      if (trigger === 'auto-approve' || trigger === 'auto-retry') {
        const payload = { ...paymentOf(plan, chain), outcome, reasons: [...reasons], callbackLogId }
        await events.publish(settlementNotExecuted, payload)
        const alert = { chain: columnText(plan.chainName ?? 'unknown', 64), reason: reasons.join(', ') }
        await events.publish(settlementFailed, alert)
      }
    })
    const state = outcome === 'failed' ? 'failed' : plan.state === 'ready' ? 'blocked' : plan.state
    return { reviewLogId: log.id, outTradeNo: log.outTradeNo, outcome, state, reasons, plan }
  }

  /** The log of this try, in the transaction around it. */
  async #note(
    log: ReviewLog,
    plan: SettlementPlan,
    trigger: SettlementTrigger,
    reviewer: Reviewer,
    outcome: SettlementOutcome,
    reasons: readonly BlockingReason[],
  ): Promise<number> {
    const { db, clock } = this.#parts
    const id = db.newId()
    await db.fork().insert(CallbackLog, {
      id,
      outTradeNo: log.outTradeNo,
      reviewLogId: log.id,
      startedBy: trigger,
      outcome,
      reasons: [...reasons],
      chainName: plan.chainName,
      transactionHash: plan.transactionHash,
      eventKey: plan.eventKey,
      reviewFingerprint: log.reviewFingerprint,
      actorUserId: reviewer.userId,
      traceId: reviewer.traceId === null ? null : columnText(reviewer.traceId, 128),
      createdAt: new Date(clock.now()),
    })
    return id
  }
}

/** What a notice may tell of a payment: no address of a node, no key. */
export const paymentOf = (plan: SettlementPlan, chain: Chain | undefined) => ({
  outTradeNo: plan.outTradeNo,
  chainName: plan.chainName,
  transactionHash: plan.transactionHash,
  explorerUrl: explorerUrlOf(chain, plan.transactionHash),
})
