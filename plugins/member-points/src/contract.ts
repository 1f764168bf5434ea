import { service } from '@plinth/kernel'
import type { LotRepository } from '@plinth/money'

/** The asset of member points (document 1, "What the service does" 2). */
export const defaultAsset = 'points:mall'

export interface Reward {
  /**
   * Points granted by this call, or by an earlier call with the same key. 0 if the rule is disabled, if the rule grants
   * none, or if the account is closed.
   */
  readonly points: number
  /** The part of `points` that paid debts from refunds; 0 if `replayed`. */
  readonly settled: number
  /** Journal in the ledger; null if nothing was granted. */
  readonly journalId: number | null
  /** True if an earlier call with the same key granted the points. This call then changed nothing. */
  readonly replayed: boolean
}

/** An achievement to reward. The plugin that reports it has checked it. */
export interface TaskReward {
  /**
   * Code of a rule of type `task`: `profile-completion`, `first-order`, `review-reward`, or a code that an operator
   * added.
   */
  readonly task: string
  readonly userId: number
  /**
   * What the reward is for, 1 to 100 characters, such as the id of a review. Each subject is rewarded once per task. If
   * the subject is missing or the rule sets `once`, each user is rewarded once. Required for `review-reward`.
   */
  readonly subject?: string
}

export interface PointsPayment {
  readonly userId: number
  /** 1 or more. */
  readonly points: number
  /** Idempotency key, 1 to 255 characters. It must start with the name of the calling plugin. */
  readonly key: string
  /** Business object that the points pay for. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** Reason shown to operators; at most 255 characters. */
  readonly reason?: string
}

export interface PointsPaid {
  readonly journalId: number
  /** Available points after the payment. */
  readonly available: number
  readonly replayed: boolean
}

/**
 * Points of members. The money ledger stores the balances. This plugin stores the rules and where points came from.
 * Every method joins the transaction of its caller.
 */
export interface MemberPoints {
  /**
   * Grants the reward of a task.
   *
   * @throws BusinessError `404` `member-points.rule-unknown`; `400` `member-points.key-invalid`
   */
  rewardTask(reward: TaskReward): Promise<Reward>
  /**
   * Grants the points that a lottery decided. The idempotency key is
   * `member-points:marketing-lottery:{userId}:{operationKey}`.
   *
   * @param operationKey 1 to 150 characters; the same key grants once per user
   * @param points 1 to 1,000,000,000
   * @throws BusinessError `409` `money.idempotency-mismatch` if the key was used with another number of points; `400`
   *   `member-points.key-invalid`; `400` `member-points.amount-invalid`
   */
  rewardLottery(userId: number, operationKey: string, points: number): Promise<Reward>
  /**
   * Debits points. Points that expire first are used first.
   *
   * @throws BusinessError `409` `money.balance-insufficient`, `409` `money.idempotency-mismatch`, `409`
   *   `money.account-closed`
   */
  spend(payment: PointsPayment): Promise<PointsPaid>
  /**
   * Debits expired points of all assets that use `lotRepository`. Skips an asset that another run is processing. After
   * an abort, the next run continues.
   */
  expire(signal?: AbortSignal): Promise<void>
  /**
   * Adds new ledger entries to the daily totals of all assets that use `lotRepository`. After an abort, the next run
   * continues.
   */
  countDays(signal?: AbortSignal): Promise<void>
  /**
   * For plugins that add another points asset: `contribute(ledgerAssets, 'points:vip', { ..., lots:
   * memberPoints.lotRepository })`. Rules may only use assets with this repository.
   */
  readonly lotRepository: LotRepository
}

export const memberPoints = service<MemberPoints>('member-points', { from: '@plinth/member-points' })
