import { service } from '@plinth/kernel'
import type { LotBook } from '@plinth/money'

/** The asset of member points where nobody says another (document 1, "What the service does" 2). */
export const defaultAsset = 'points:mall'

/** What a reward became. */
export interface Reward {
  /**
   * Points that were granted, by this call or by an earlier one under the same key; 0 where the rule is switched off or gives none,
   * or where the account is closed, as that of a deleted member is.
   */
  readonly points: number
  /** Of these, points that settled debts of refunds at once; 0 when an earlier call did it. */
  readonly settled: number
  /** Journal of the ledger; null where nothing was granted. */
  readonly journalId: number | null
  /** True when an earlier call under the same key did it, and nothing was done now. */
  readonly replayed: boolean
}

/** A fact that deserves a reward, checked by whoever owns it. */
export interface TaskReward {
  /** A rule of the type `task`: `profile-completion`, `first-order`, `review-reward`, or one that an operator added. */
  readonly task: string
  readonly userId: number
  /**
   * The thing that it is about, 1 to 100 characters: rewarded once for each. The user where absent, or where the rule says `once`:
   * once in a lifetime.
   */
  readonly subject?: string
}

export interface PointsPayment {
  readonly userId: number
  /** 1 or more. */
  readonly points: number
  /** Idempotency key, 1 to 255 characters, with the name of the module at its beginning. */
  readonly key: string
  /** What they are spent on. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** Why, for people; at most 255 characters. */
  readonly reason?: string
}

export interface PointsPaid {
  readonly journalId: number
  /** Points that are left. */
  readonly available: number
  readonly replayed: boolean
}

/**
 * Points of members. The balance is the money ledger's; kept here are the rules and where points came from. Every method joins the
 * transaction of its caller.
 */
export interface MemberPoints {
  /**
   * Books the reward of a task: the one way for all of them.
   *
   * @throws BusinessError `404` `member-points.rule-unknown`; `400` `member-points.key-invalid`
   */
  rewardTask(reward: TaskReward): Promise<Reward>
  /**
   * Books a points prize of a lottery under `member-points:marketing-lottery:{userId}:{operationKey}`. Which prize was won is the
   * lottery's to know.
   *
   * @param operationKey 1 to 150 characters; the same for one user never books twice
   * @param points 1 to 1,000,000,000
   * @throws BusinessError `409` `money.idempotency-mismatch` for another number of points under the same key; `400`
   *   `member-points.key-invalid`
   */
  rewardLottery(userId: number, operationKey: string, points: number): Promise<Reward>
  /**
   * Takes points, those that lapse first at first.
   *
   * @throws BusinessError `409` `money.balance-insufficient`, `409` `money.idempotency-mismatch`, `409` `money.account-closed`
   */
  spend(payment: PointsPayment): Promise<PointsPaid>
  /**
   * Lets points lapse that are past their time, of all assets with this lot book; does nothing where another run does. What the signal
   * cuts off is gone on with by the next run.
   */
  expire(signal?: AbortSignal): Promise<void>
  /** Adds what the ledger wrote since the last time to the sums by day, of all assets with this lot book. */
  countDays(signal?: AbortSignal): Promise<void>
  /**
   * For the plugin that brings another points asset: `contribute(ledgerAssets, 'points:vip', { ..., lots: memberPoints.lotBook })`.
   * A rule may name an asset only when it is brought with this book, which says that its consumers are there.
   */
  readonly lotBook: LotBook
}

export const memberPoints = service<MemberPoints>('member-points', { from: '@plinth/member-points' })
