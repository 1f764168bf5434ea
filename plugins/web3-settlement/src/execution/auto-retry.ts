import { insertMissingRows } from '@plinth/database'
import { isBusinessError } from '@plinth/kernel'
import { RetryCountRow, type ReviewRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import type { AttemptReason } from '../planning/reasons.ts'
import type { Reviewer } from '../reviews/review-logs.ts'
import type { SettlementResult } from './executor.ts'

type AutoRetryDependencies = Pick<
  Parts,
  'db' | 'clock' | 'config' | 'approvals' | 'reviews' | 'savers' | 'attempts' | 'executor' | 'retryDelayMs'
>

const retry = 'platform.money.web3.settlement.retry'
const perRun = 50

/** Repeats attempts that failed for a reason that may disappear with time, up to a limit per order and fingerprint. */
export class AutoRetry {
  readonly #parts: AutoRetryDependencies

  constructor(parts: AutoRetryDependencies) {
    this.#parts = parts
  }

  async run(signal?: AbortSignal): Promise<readonly SettlementResult[]> {
    const { db, clock, config, reviews } = this.#parts
    if (!config.get(`${retry}.enabled`)) return []
    const due = await db.query<{ id: unknown }>(
      'select id from web3_settlement_review_log where retry_at <= ? order by retry_at limit ?',
      [new Date(clock.expiryNow()), perRun],
    )
    const results: SettlementResult[] = []
    for (const { id } of due) {
      if (signal?.aborted) break
      const result = await this.#retry(await reviews.get(Number(id)))
      if (result !== undefined) results.push(result)
    }
    return results
  }

  async #retry(log: ReviewRow): Promise<SettlementResult | undefined> {
    const { approvals, savers, executor } = this.#parts
    const version = await this.#takeTurn(log)
    if (version === undefined) return undefined
    const reviewer = reviewerOf(log)
    try {
      await approvals.assert('auto-retry', { id: log.id, state: log.status }, reviewer)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      await this.#giveUp(log, reviewer, ['approval-rejected'])
      return undefined
    }
    const obstacle = await savers.obstacleOf(log)
    if (obstacle !== undefined) {
      await executor.hold({ ...log, version }, 'auto-retry', reviewer, [obstacle])
      return undefined
    }
    // If an operator decides about the review in the meantime, its version changes, which prevents this settlement.
    return executor.execute({ ...log, version }, 'auto-retry', reviewer)
  }

  /** Claims the review. @returns its version; undefined if another instance was faster or no retry is left */
  async #takeTurn(log: ReviewRow): Promise<number | undefined> {
    const { db, clock, config, retryDelayMs } = this.#parts
    const maxAttempts = config.get(`${retry}.max-attempts`)
    const delayMs = retryDelayMs()
    const now = new Date(clock.now())
    return db.transactional(async () => {
      const claimed = await db.execute(
        `update web3_settlement_review_log set retry_at = ?, version = version + 1
         where id = ? and version = ? and retry_at <= ?`,
        [new Date(now.getTime() + delayMs), log.id, log.version, now],
      )
      if (claimed === 0) return undefined
      const { outTradeNo, reviewFingerprint } = log
      const count = { id: db.newId(), outTradeNo, reviewFingerprint, attempts: 0, updatedAt: now }
      await insertMissingRows(db, RetryCountRow, ['outTradeNo', 'reviewFingerprint'], [count])
      const counted = await db.execute(
        `update web3_settlement_retry set attempts = attempts + 1, updated_at = ?
         where out_trade_no = ? and review_fingerprint = ? and attempts < ?`,
        [now, outTradeNo, reviewFingerprint, maxAttempts],
      )
      if (counted > 0) return log.version + 1
      await this.#giveUp(log, reviewerOf(log), [...(log.lastReasons ?? []), 'retries-used-up'])
      return undefined
    })
  }

  /** Ends the automatic retries of a review and records the reason as an attempt. */
  async #giveUp(log: ReviewRow, reviewer: Reviewer, reasons: readonly AttemptReason[]): Promise<void> {
    const { db, attempts } = this.#parts
    await db.transactional(async () => {
      await db.execute('update web3_settlement_review_log set retry_at = ? where id = ?', [null, log.id])
      const attempt = { log, plan: log.planSnapshot, trigger: 'auto-retry' as const, reviewer, reasons }
      await attempts.record({ ...attempt, outcome: 'skipped' }, 'blocked')
    })
  }
}

const reviewerOf = ({ permissionSnapshot, traceId }: ReviewRow): Reviewer => ({
  userId: null,
  permissions: permissionSnapshot,
  traceId: traceId ?? null,
})
