import { type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { fitTextToColumn } from '@plinth/kernel'
import { CallbackRow, type ReviewRow, type SettlementOutcome, type SettlementTrigger } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { SettlementPlan } from '../planning/plan.ts'
import { type AttemptReason, type CandidateState, remainsCandidate } from '../planning/reasons.ts'
import type { Reviewer } from '../reviews/review-logs.ts'

export interface Attempt {
  readonly log: ReviewRow
  readonly plan: SettlementPlan
  readonly trigger: SettlementTrigger
  readonly reviewer: Reviewer
  readonly outcome: SettlementOutcome
  /** Reasons against the settlement. Empty if the order was settled. */
  readonly reasons: readonly AttemptReason[]
}

type AttemptDependencies = Pick<Parts, 'db' | 'clock'>

/** Records attempts to settle. */
export class Attempts {
  readonly #parts: AttemptDependencies

  constructor(parts: AttemptDependencies) {
    this.#parts = parts
  }

  /**
   * Records an attempt in the current transaction. Updates the review, and the review from which it follows.
   *
   * @param state new state of the review; default: unchanged
   * @returns the id of the attempt
   */
  async record({ log, plan, trigger, reviewer, outcome, reasons }: Attempt, state?: CandidateState): Promise<number> {
    const { db, clock } = this.#parts
    const id = db.newId()
    const createdAt = new Date(clock.now())
    await db.fork().insert(CallbackRow, {
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
      traceId: reviewer.traceId === null ? null : fitTextToColumn(reviewer.traceId, 128),
      createdAt,
    })
    const ids = log.sourceLogId == null ? [log.id] : [log.id, log.sourceLogId]
    const places = ids.map(() => '?').join(', ')
    await db.execute(
      `update web3_settlement_review_log set last_outcome = ?, last_reasons = ?, last_attempt_at = ? where id in (${places})`,
      [outcome, JSON.stringify(reasons), createdAt, ...ids],
    )
    const isCandidate = outcome !== 'settled' && log.candidate && remainsCandidate(reasons)
    // A review that is settled or rejected keeps its state.
    await db.execute(
      `update web3_settlement_review_log set state = coalesce(?, state), candidate = ?
       where id in (${places}) and status in ('open', 'approved', 'noted') and state <> 'settled'`,
      [state ?? null, isCandidate, ...ids],
    )
    return id
  }

  /** Lists the attempts of a review, including those of reviews that follow from it. */
  async list({ id, outTradeNo }: ReviewRow, window: PageWindow): Promise<FoundPage<CallbackRow>> {
    const rows = await this.#parts.db.query<{ id: unknown }>(
      'select id from web3_settlement_review_log where source_log_id = ?',
      [id],
    )
    const reviewLogId = { $in: [id, ...rows.map((row) => Number(row.id))] }
    return findPage(this.#parts.db.fork(), CallbackRow, { outTradeNo, reviewLogId }, window)
  }

  /** True if another user has tried to settle. */
  async wasTriedBySecond({ id }: ReviewRow, userId: number): Promise<boolean> {
    const rows = await this.#parts.db.query(
      'select id from web3_payment_callback_log where review_log_id = ? and actor_user_id <> ? limit 1',
      [id, userId],
    )
    return rows.length > 0
  }
}
