import { settlementFailed } from '@plinth/events'
import { fitTextToColumn } from '@plinth/kernel'
import type { Chain } from '@plinth/web3'
import { type Candidate, isPlannedWithOtherSettings, settlementType } from '../candidates.ts'
import { settlementNotExecuted, settlementSucceeded } from '../contract.ts'
import type { ReviewRow, SettlementOutcome, SettlementTrigger } from '../entities.ts'
import { explorerUrlOf } from '../notices/notices.ts'
import type { Parts } from '../parts.ts'
import { fingerprintOfPlan, type SettlementPlan } from '../planning/plan.ts'
import {
  type AttemptReason,
  attemptReasons,
  type BlockingReason,
  type CandidateState,
  payerCauses,
  remainsCandidate,
  temporaryReasons,
} from '../planning/reasons.ts'
import { showsSameCompetingOrders } from '../planning/transfers.ts'
import { isSettlingAction, type Reviewer, wasMined } from '../reviews/review-logs.ts'
import type { Attempt } from './attempts.ts'

export interface SettlementResult {
  readonly reviewLogId: number
  readonly outTradeNo: string
  readonly outcome: SettlementOutcome
  readonly state: CandidateState
  /** Blocking reasons in the order of document 3 of the specification, then causes. Empty if the order was settled. */
  readonly reasons: readonly AttemptReason[]
  readonly plan: SettlementPlan
}

interface ExecutionOptions {
  /** True if the operator settles although the review shows causes for doubt or other orders that claim the payment. */
  readonly acceptsCauses?: boolean | undefined
  /** Result of an earlier query. Default: the chain is queried again. */
  readonly candidate?: Candidate | undefined
}

type ExecutorDependencies = Pick<
  Parts,
  | 'db'
  | 'clock'
  | 'log'
  | 'events'
  | 'payments'
  | 'chains'
  | 'candidates'
  | 'reviews'
  | 'attempts'
  | 'unmatched'
  | 'retryDelayMs'
>

/** Maximum age of a plan in milliseconds. An older plan is not executed, because its facts may have changed. */
const maxPlanAgeMs = 10_000

/** Thrown to roll back the transaction of a settlement. */
class Skipped extends Error {
  readonly reason: BlockingReason
  constructor(reason: BlockingReason) {
    super(reason)
    this.reason = reason
  }
}

/** Reasons of a plan that have another code when they prevent an execution. */
const atExecution: Partial<Record<BlockingReason, BlockingReason>> = {
  'local-order-not-settleable': 'order-not-settleable',
}

/** Executes settlements. No other class settles orders by transactions on a chain. */
export class Executor {
  readonly #parts: ExecutorDependencies

  constructor(parts: ExecutorDependencies) {
    this.#parts = parts
  }

  /**
   * Checks chain and order again, compares them with the review, and settles in one transaction: order, payment,
   * handler of the scene, logs and events. If something prevents the settlement, returns the reasons instead of
   * throwing. Of concurrent executions on all instances, one settles.
   *
   * @param log review as it was read, with an approved settlement
   */
  async execute(
    log: ReviewRow,
    trigger: SettlementTrigger,
    reviewer: Reviewer,
    { acceptsCauses = false, candidate: given }: ExecutionOptions = {},
  ): Promise<SettlementResult> {
    const candidate = given ?? (await this.look(log))
    const found = this.#against(log, candidate, acceptsCauses)
    const attempt = { log, plan: candidate.plan, trigger, reviewer }
    if (found.length > 0) return this.#skip({ ...attempt, outcome: 'skipped', reasons: found }, candidate)
    try {
      await this.#settle(log, candidate, trigger, reviewer)
    } catch (error) {
      if (error instanceof Skipped) {
        return this.#skip({ ...attempt, outcome: 'skipped', reasons: [error.reason] }, candidate)
      }
      const { outTradeNo, id: reviewLogId } = log
      this.#parts.log.error({ err: error, outTradeNo, reviewLogId }, 'a settlement failed and was rolled back')
      return this.#skip({ ...attempt, outcome: 'failed', reasons: ['handler-failed'] }, candidate)
    }
    const { id: reviewLogId, outTradeNo } = log
    return { reviewLogId, outTradeNo, outcome: 'settled', state: 'settled', reasons: [], plan: candidate.plan }
  }

  /** Compares the order of a review with its chain. Writes nothing. */
  look(log: ReviewRow): Promise<Candidate> {
    return this.#parts.candidates.of({
      outTradeNo: log.outTradeNo,
      transactionHash: log.transactionHash,
      pick: { logIndex: log.logIndex },
      wasMined: wasMined(log),
    })
  }

  /**
   * Holds a review: only an operator can decide about it from now on. Records the attempt and sends one notice.
   *
   * @param candidate absent if the chain was not queried
   * @returns false if the review was already held or has ended
   */
  async hold(
    log: ReviewRow,
    trigger: SettlementTrigger,
    reviewer: Reviewer,
    reasons: readonly AttemptReason[],
    candidate?: Candidate,
  ): Promise<boolean> {
    const { db, clock, events, attempts } = this.#parts
    const plan = candidate?.plan ?? log.planSnapshot
    return db.transactional(async () => {
      const held = await db.execute(
        `update web3_settlement_review_log set held_at = ?, retry_at = ?, version = version + 1
         where id = ? and held_at is null and status in ('open', 'approved')`,
        [new Date(clock.now()), null, log.id],
      )
      if (held === 0) return false
      const attempt = { log, plan, trigger, reviewer, outcome: 'skipped' as const, reasons }
      const callbackLogId = await attempts.record(attempt, candidate === undefined ? undefined : plan.state)
      const payload = { ...paymentOf(plan, candidate?.chain), outcome: 'skipped' as const, reasons: [...reasons] }
      await events.publish(settlementNotExecuted, { ...payload, callbackLogId })
      return true
    })
  }

  /** Returns the reasons against a settlement that are known before its transaction. */
  #against(
    log: ReviewRow,
    { plan, order, chain, answeredAt }: Candidate,
    acceptsCauses: boolean,
  ): readonly AttemptReason[] {
    const found = new Set<AttemptReason>(plan.reasons.map((reason) => atExecution[reason] ?? reason))
    // Without facts about the transaction, the fingerprints of plan and review cannot be compared.
    const isComparable = plan.state !== 'failed' && !found.has('local-order-already-paid')
    const isOfFirstVersion = log.fingerprintVersion === 1 && order !== undefined
    const fingerprint = isOfFirstVersion ? fingerprintOfPlan(plan, order, 1) : plan.fingerprint
    if (isComparable && fingerprint !== log.reviewFingerprint) found.add('review-fingerprint-mismatched')
    if (isPlannedWithOtherSettings(log, chain)) found.add('review-fingerprint-mismatched')
    if (this.#parts.clock.monotonic() - answeredAt > maxPlanAgeMs) found.add('rpc-query-failed')
    const { planSnapshot: seen } = log
    for (const cause of plan.causes) {
      const isShown =
        seen.causes.includes(cause) && (cause !== 'named-by-another-order' || showsSameCompetingOrders(seen, plan))
      if (!(acceptsCauses && payerCauses.includes(cause) && isShown)) found.add(cause)
    }
    return attemptReasons.filter((reason) => found.has(reason))
  }

  async #settle(log: ReviewRow, candidate: Candidate, trigger: SettlementTrigger, reviewer: Reviewer): Promise<void> {
    const { db, payments, reviews, events, unmatched } = this.#parts
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
      await this.#assertSameSettings(chain)
      const { blockNumber, blockHash, logIndex, logOrdinal, from, to, token, value } = transfer
      const result = await payments.settle({
        outTradeNo: log.outTradeNo,
        type: settlementType,
        transactionHash,
        expectedVersion: order.version,
        eventKey,
        chainName,
        logOrdinal,
        facts: {
          blockNumber,
          blockHash,
          logIndex,
          from,
          to,
          token,
          value,
          confirmations: plan.confirmations,
          requiredConfirmations: plan.requiredConfirmations,
          providerId: plan.providerId,
          reviewFingerprint: log.reviewFingerprint,
        },
      })
      if (result.outcome === 'skipped') {
        throw new Skipped(result.reason === 'handler-missing' ? 'applier-not-available' : result.reason)
      }
      await db.execute(
        `update web3_settlement_review_log set state = 'settled', status = 'settled', candidate = ?, retryable = ?, retry_at = ?
         where id = ?`,
        [false, false, null, log.id],
      )
      const action = trigger === 'auto-retry' ? 'auto-retry' : 'settle'
      await reviews.insert(plan, {
        action,
        status: 'settled',
        state: 'settled',
        reviewer,
        logIndex: log.logIndex ?? null,
        sourceLogId: log.id,
      })
      await this.#parts.attempts.record({ log, plan, trigger, reviewer, outcome: 'settled', reasons: [] }, 'settled')
      await unmatched.close(chainName, transactionHash, logOrdinal)
      const { userId } = result.order
      const payload = {
        ...paymentOf(plan, chain),
        eventKey,
        reviewLogId: log.id,
        ...(userId !== null && { userId }),
      }
      await events.publish(settlementSucceeded, payload, { key: `order:${log.outTradeNo}` })
    })
  }

  /**
   * Claims the review. If settlements run concurrently, only one of them continues. The state is `settling` until the
   * commit.
   */
  async #claim({ id, version, outTradeNo }: ReviewRow): Promise<void> {
    const { db, payments } = this.#parts
    const claimed = await db.execute(
      "update web3_settlement_review_log set state = 'settling', version = version + 1 where id = ? and version = ?",
      [id, version],
    )
    if (claimed > 0) return
    const order = await payments.find(outTradeNo)
    throw new Skipped(order?.status === 'success' ? 'local-order-already-paid' : 'order-update-conflict')
  }

  /** Rejects a plan whose chain has changed since it was queried, also if another instance changed it. */
  async #assertSameSettings(planned: Chain | undefined): Promise<void> {
    const current = planned === undefined ? undefined : await this.#parts.chains.get(planned.name)
    if (current?.settingsDigest !== planned?.settingsDigest) throw new Skipped('review-fingerprint-mismatched')
  }

  /** Records that nothing was settled, and when to try again. */
  async #skip(attempt: Attempt, candidate: Candidate): Promise<SettlementResult> {
    const { log, trigger, reviewer, outcome, reasons } = attempt
    const { plan, chain } = candidate
    const { db, clock, events, reviews, attempts, unmatched, retryDelayMs } = this.#parts
    const isAutomatic = trigger === 'auto-approve' || trigger === 'auto-retry'
    const state = outcome === 'failed' ? 'failed' : plan.state === 'ready' ? 'blocked' : plan.state
    const result = { reviewLogId: log.id, outTradeNo: log.outTradeNo, outcome, state, reasons, plan } as const
    const needsPerson = isAutomatic && payerCauses.some((cause) => reasons.includes(cause))
    if (needsPerson && (await this.hold(log, trigger, reviewer, reasons, candidate))) return result
    const isRetried = isSettlingAction(log.action) && reasons.every((reason) => temporaryReasons.has(reason))
    const isRetryable = isSettlingAction(log.action) && log.candidate && remainsCandidate(reasons)
    await db.transactional(async () => {
      await db.execute(
        `update web3_settlement_review_log set retry_at = ?, retryable = ?
         where id = ? and status in ('open', 'approved')`,
        [isRetried ? new Date(clock.now() + retryDelayMs()) : null, isRetryable, log.id],
      )
      if (trigger === 'auto-retry') {
        await reviews.insert(plan, {
          action: 'auto-retry',
          status: 'noted',
          reviewer,
          state,
          attempt: { outcome, reasons },
          logIndex: log.logIndex ?? null,
          sourceLogId: log.id,
          reviewFingerprint: log.reviewFingerprint,
          fingerprintVersion: log.fingerprintVersion,
        })
      }
      // Records a payment that became late or double after the review was saved.
      await unmatched.record(candidate, 'review', log.actorUserId ?? null)
      // If the attempt is repeated later, the review keeps its state until then.
      const callbackLogId = await attempts.record(attempt, isRetried ? undefined : state)
      // If the order is already paid, operators need no notice.
      if (!isAutomatic || reasons.includes('local-order-already-paid')) return
      const payload = { ...paymentOf(plan, chain), reasons: [...reasons], callbackLogId }
      await events.publish(settlementNotExecuted, { ...payload, outcome: outcome === 'failed' ? 'failed' : 'skipped' })
      const alert = { chain: fitTextToColumn(plan.chainName ?? 'unknown', 64), reason: reasons.join(', ') }
      await events.publish(settlementFailed, alert)
    })
    return result
  }
}

/** Returns the data of a payment for notices. It must not contain the URL or key of a provider. */
export const paymentOf = (plan: SettlementPlan, chain: Chain | undefined) => ({
  outTradeNo: plan.outTradeNo,
  chainName: plan.chainName,
  transactionHash: plan.transactionHash,
  explorerUrl: explorerUrlOf(chain, plan.transactionHash),
})
