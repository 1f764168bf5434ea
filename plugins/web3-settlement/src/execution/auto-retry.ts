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
    const { approvals, executor } = this.#parts
    const version = await this.#takeTurn(log)
    if (version === undefined) return undefined
    const reviewer: Reviewer = { userId: null, permissions: log.permissionSnapshot, traceId: log.traceId ?? null }
    try {
      await approvals.assert('auto-retry', { id: log.id, state: log.status }, reviewer)
    } catch (error) {
      if (!isBusinessError(error)) throw error
      await this.#giveUp(log)
      return undefined
    }
    // As it was approved: what somebody has decided since has changed the version, and nothing is settled.
    return executor.execute({ ...log, version }, 'auto-retry', reviewer)
  }

  /** The version under which this instance is the one to try; undefined when it is not, or no try is left. */
  async #takeTurn(log: ReviewLog): Promise<number | undefined> {
    const { db, clock } = this.#parts
    const { maxAttempts, delayMs } = this.#parts.rules()
    const now = new Date(clock.now())
    return db.transactional(async () => {
      const claimed = await db.execute(
        `update web3_settlement_review_log set retry_at = ?, version = version + 1
         where id = ? and version = ? and retry_at <= ?`,
        [new Date(now.getTime() + delayMs), log.id, log.version, now],
      )
      if (claimed === 0) return undefined
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
      if (counted > 0) return log.version + 1
      await this.#giveUp(log)
      return undefined
    })
  }

  async #giveUp({ id }: ReviewLog): Promise<void> {
    await this.#parts.db.execute('update web3_settlement_review_log set retry_at = ? where id = ?', [null, id])
  }
}
