import { isBusinessError } from '@plinth/kernel'
import { type Candidate, isPlannedWithOtherSettings } from '../candidates.ts'
import type { ReviewRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { type AttemptReason, payerCauses, type ReviewCause } from '../planning/reasons.ts'
import type { Reviewer } from '../reviews/review-logs.ts'
import type { SettlementResult } from './executor.ts'

/** Rules for overdue reviews, read at each run (document 3 of the specification, "Limits" 4). */
export interface OverdueRules {
  readonly enabled: boolean
  readonly timeoutMs: number
  readonly action: 'auto-approve' | 'auto-reject'
  readonly executeApproved: boolean
  readonly limit: number
}

interface OverdueItem {
  readonly reviewLogId: number
  /**
   * Id of the new review with the decision. Null if another instance handled the review, or if an operator must decide.
   */
  readonly handlingLogId: number | null
  readonly action: 'auto-approve' | 'auto-reject'
  readonly reason: string | null
  readonly result: SettlementResult | null
}

type OverdueDependencies = Pick<
  Parts,
  'db' | 'clock' | 'approvals' | 'reviews' | 'savers' | 'executor' | 'overdueRules' | 'retryDelayMs'
>

/** Handles reviews that request a settlement and were not settled in time. */
export class OverdueReviews {
  readonly #parts: OverdueDependencies

  constructor(parts: OverdueDependencies) {
    this.#parts = parts
  }

  /** Handles the oldest reviews, each once, even with several instances. */
  async handle(signal?: AbortSignal): Promise<readonly OverdueItem[]> {
    const { db, clock, reviews } = this.#parts
    const rules = this.#parts.overdueRules()
    if (!rules.enabled) return []
    const overdue = await db.query<{ id: unknown }>(
      `select id from web3_settlement_review_log where status = 'open' and action = 'settle' and created_at <= ? and held_at is null
       order by created_at, id limit ?`,
      [new Date(clock.expiryNow() - rules.timeoutMs), rules.limit],
    )
    const items: OverdueItem[] = []
    for (const { id } of overdue) {
      if (signal?.aborted) break
      items.push(await this.#handleOne(await reviews.get(Number(id)), rules))
    }
    return items
  }

  async #handleOne(log: ReviewRow, { action, executeApproved }: OverdueRules): Promise<OverdueItem> {
    const { approvals, savers, executor } = this.#parts
    // The decision uses the permissions that the user had when saving the review.
    const reviewer: Reviewer = { userId: null, permissions: log.permissionSnapshot, traceId: log.traceId ?? null }
    const item = { reviewLogId: log.id, action, handlingLogId: null, reason: null, result: null }
    const isApproval = action === 'auto-approve'
    const hold = async (reasons: readonly AttemptReason[], candidate?: Candidate): Promise<OverdueItem> => {
      const isHeld = await executor.hold(log, action, reviewer, reasons, candidate)
      return { ...item, reason: isHeld ? (reasons[0] ?? null) : null }
    }
    const obstacle = isApproval ? await savers.obstacleOf(log) : undefined
    if (obstacle !== undefined) return hold([obstacle])
    const candidate = await executor.look(log)
    if (isPlannedWithOtherSettings(log, candidate.chain)) return hold(['review-fingerprint-mismatched'], candidate)
    const causes = openCauses(log, candidate)
    if (causes.length > 0) return hold(causes, candidate)
    try {
      const step = isApproval ? 'timeout-approve' : 'timeout-reject'
      await approvals.assert(step, { id: log.id, state: log.status }, reviewer)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      await hold(['approval-rejected'])
      return { ...item, reason: error.reason ?? null }
    }
    const willExecute = isApproval && executeApproved
    const handled = await this.#write(log, action, reviewer, willExecute)
    if (handled === undefined) return item
    const result = willExecute ? await executor.execute(handled, 'auto-approve', reviewer, { candidate }) : null
    return { ...item, handlingLogId: handled.id, reason: result?.reasons[0] ?? null, result }
  }

  /** Ends the review and saves a new one for the decision, with the plan that the operator saw. */
  #write(
    log: ReviewRow,
    action: 'auto-approve' | 'auto-reject',
    reviewer: Reviewer,
    willExecute: boolean,
  ): Promise<ReviewRow | undefined> {
    const { db, clock, reviews, retryDelayMs } = this.#parts
    const status = action === 'auto-approve' ? 'approved' : 'rejected'
    return db.transactional(async () => {
      const claimed = await db.execute(
        `update web3_settlement_review_log set status = ?, retryable = ?, retry_at = ?, version = version + 1
         where id = ? and status = 'open'`,
        [status, false, null, log.id],
      )
      if (claimed === 0) return undefined
      return reviews.insert(log.planSnapshot, {
        action,
        status,
        reviewer,
        reviewFingerprint: log.reviewFingerprint,
        fingerprintVersion: log.fingerprintVersion,
        logIndex: log.logIndex ?? null,
        sourceLogId: log.id,
        // If the process dies before the settlement, the automatic retries continue at this time.
        retryAt: willExecute ? new Date(clock.now() + retryDelayMs()) : null,
      })
    })
  }
}

/**
 * Returns the causes about the payer that still apply. If the new plan has no facts, the causes of the saved plan
 * apply.
 */
function openCauses(log: ReviewRow, { plan }: Candidate): readonly ReviewCause[] {
  const saved = plan.state === 'failed' ? log.planSnapshot.causes : []
  return payerCauses.filter((cause) => plan.causes.includes(cause) || saved.includes(cause))
}
