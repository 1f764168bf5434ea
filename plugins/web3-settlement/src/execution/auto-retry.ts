import { type Database, insertMissing } from '@plinth/database'
import { type Clock, isBusinessError } from '@plinth/kernel'
import type { ReviewLog } from '../entities.ts'
import type { ReviewApprovals } from '../reviews/review-approvals.ts'
import type { Reviewer, ReviewLogs } from '../reviews/review-logs.ts'
import type { Executor, SettlementResult } from './executor.ts'

interface AutoRetryParts {
  readonly db: Database
  readonly clock: Clock
  readonly approvals: ReviewApprovals
  readonly reviews: ReviewLogs
  readonly executor: Executor
  readonly rules: () => { readonly enabled: boolean; readonly maxAttempts: number; readonly delayMs: number }
}

const perRun = 50

/** Tries again what time may have mended, so often and no more for each order and fingerprint. */
export class AutoRetry {
  readonly #parts: AutoRetryParts

  constructor(parts: AutoRetryParts) {
    this.#parts = parts
  }

  async run(signal?: AbortSignal): Promise<readonly SettlementResult[]> {
    const { db, clock, reviews } = this.#parts
    const { enabled } = this.#parts.rules()
    if (!enabled) return []
    const due = await db.query<{ id: unknown }>(
      'select id from web3_settlement_review_log where retry_at <= ? order by retry_at limit ?',
      [new Date(clock.now()), perRun],
    )
    const results: SettlementResult[] = []
    for (const { id } of due) {
      if (signal?.aborted) break
      const result = await this.#retry(await reviews.get(Number(id)))
      if (result !== undefined) results.push(result)
    }
    return results
  }

  async #retry(log: ReviewLog): Promise<SettlementResult | undefined> {
    const { approvals, executor, reviews } = this.#parts
    if (!(await this.#takeTurn(log))) return undefined
    const reviewer: Reviewer = { userId: null, permissions: log.permissionSnapshot, traceId: log.traceId ?? null }
    try {
      await approvals.assert('auto-retry', { id: log.id, state: log.status }, reviewer)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      await this.#giveUp(log)
      return undefined
    }
    return executor.execute(await reviews.get(log.id), 'auto-retry', reviewer)
  }

  /** True when this instance is the one to try, and a try is left. */
  async #takeTurn(log: ReviewLog): Promise<boolean> {
    const { db, clock } = this.#parts
    const { maxAttempts, delayMs } = this.#parts.rules()
    const now = new Date(clock.now())
    return db.transactional(async () => {
      const claimed = await db.execute(
        'update web3_settlement_review_log set retry_at = ?, version = version + 1 where id = ? and version = ?',
        [new Date(clock.now() + delayMs), log.id, log.version],
      )
      if (claimed === 0) return false
      const { outTradeNo, reviewFingerprint } = log
      await insertMissing(
        db,
        {
          table: 'web3_settlement_retry',
          columns: ['id', 'out_trade_no', 'review_fingerprint', 'attempts', 'updated_at'],
          unique: ['out_trade_no', 'review_fingerprint'],
        },
        [[db.newId(), outTradeNo, reviewFingerprint, 0, now]],
      )
      const counted = await db.execute(
        `update web3_settlement_retry set attempts = attempts + 1, updated_at = ?
         where out_trade_no = ? and review_fingerprint = ? and attempts < ?`,
        [now, outTradeNo, reviewFingerprint, maxAttempts],
      )
      if (counted === 0) await this.#giveUp(log)
      return counted > 0
    })
  }

  async #giveUp({ id }: ReviewLog): Promise<void> {
    await this.#parts.db.execute('update web3_settlement_review_log set retry_at = ? where id = ?', [null, id])
  }
}
