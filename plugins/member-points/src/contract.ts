import { service } from '@plinth/kernel'
import type { LotRepository } from '@plinth/money'

/** Default asset of member points (document 1, "What the service does" 2). */
export const defaultAsset = 'points:mall'

/** Result of a reward. */
export interface Reward {
  /**
   * Points granted by this call or by an earlier call with the same key. 0 if the rule is disabled or grants none, or
   * if the account is closed, for example after the deletion of the member.
   */
  readonly points: number
  /** The part of `points` that paid debts of refunds; 0 for a replayed call. */
  readonly settled: number
  /** Journal of the ledger; null if nothing was granted. */
  readonly journalId: number | null
  /** True if an earlier call with the same key granted the points and this call changed nothing. */
  readonly replayed: boolean
}

/** A fact to reward. The module that owns the fact has checked it. */
export interface TaskReward {
  /**
   * Code of a rule of type `task`: `profile-completion`, `first-order`, `review-reward`, or a rule that an operator
   * added.
   */
  readonly task: string
  readonly userId: number
  /**
   * Subject of the reward, 1 to 100 characters. A task is rewarded once per subject. Without a subject, and if the rule
   * sets `once`, it is rewarded once per user. `review-reward` requires a subject.
   */
  readonly subject?: string
}

export interface PointsPayment {
  readonly userId: number
  /** 1 or more. */
  readonly points: number
  /** Idempotency key, 1 to 255 characters. It must begin with the name of the module. */
  readonly key: string
  /** Subject of the payment. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** Displayed reason; at most 255 characters. */
  readonly reason?: string
}

export interface PointsPaid {
  readonly journalId: number
  /** Points after the payment. */
  readonly available: number
  readonly replayed: boolean
}

/**
 * Points of members. The money ledger stores the balances. This plugin stores rules and the sources of points. Every
 * method joins the transaction of its caller.
 */
export interface MemberPoints {
  /**
   * Grants the reward of any task.
   *
   * @throws BusinessError `404` `member-points.rule-unknown`; `400` `member-points.key-invalid`
   */
  rewardTask(reward: TaskReward): Promise<Reward>
  /**
   * Grants a points prize of a lottery with the key `member-points:marketing-lottery:{userId}:{operationKey}`. The
   * lottery decides the prize.
   *
   * @param operationKey 1 to 150 characters; the same key of one user never grants twice
   * @param points 1 to 1,000,000,000
   * @throws BusinessError `409` `money.idempotency-mismatch` for another number of points with the same key; `400`
   * `member-points.key-invalid`; `400` `member-points.amount-invalid`
   */
  rewardLottery(userId: number, operationKey: string, points: number): Promise<Reward>
  /**
   * Debits points in the order of their expiry.
   *
   * @throws BusinessError `409` `money.balance-insufficient`, `409` `money.idempotency-mismatch`, `409`
   * `money.account-closed`
   */
  spend(payment: PointsPayment): Promise<PointsPaid>
  /**
   * Expires due points of all assets with this lot book. An asset that another run processes is skipped. After an
   * abort, the next run continues.
   */
  expire(signal?: AbortSignal): Promise<void>
  /** Adds new entries of the ledger to the totals by day, for all assets with this lot book. */
  countDays(signal?: AbortSignal): Promise<void>
  /**
   * For plugins that contribute another points asset: `contribute(ledgerAssets, 'points:vip', { ..., lots:
   * memberPoints.lotRepository })`. A rule may only use an asset that is contributed with this lot book.
   */
  readonly lotRepository: LotRepository
}

export const memberPoints = service<MemberPoints>('member-points', { from: '@plinth/member-points' })
