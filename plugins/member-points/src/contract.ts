import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { LotRepository } from '@plinth/money'

/** Asset of member points (document 1 of the specification, "What the service does" 2). */
export const defaultAsset = 'points:mall'

/** Kinds of movements of points. `hold`, `capture` and `release` are those of a hold, `reverse` takes a movement back. */
export const movementKinds = ['credit', 'debit', 'hold', 'capture', 'release', 'reverse'] as const

/**
 * Event: points of an account moved. Published in the transaction of the movement with the key `points:{accountId}`, and
 * only if the product has a handler of it.
 */
export const pointsMoved = event(
  'member-points.moved',
  Type.Object({
    userId: Type.Optional(Type.Integer({ minimum: 1, description: 'Absent for accounts that belong to no user.' })),
    accountId: Type.Integer({ minimum: 1 }),
    asset: Type.String(),
    kind: Type.Enum(movementKinds),
    amount: Type.Integer({ minimum: 0, description: 'Minor units of the asset.' }),
    journalId: Type.Integer({ minimum: 1 }),
  }),
)

export interface Reward {
  /**
   * Points granted by this call, or by an earlier call with the same key. 0 if the rule is disabled or grants none, or
   * if the account is closed.
   */
  readonly points: number
  /** The part of `points` that paid debts from refunds; 0 if an earlier call granted the points. */
  readonly settled: number
  /** Null if nothing was granted. */
  readonly journalId: number | null
  /** True if an earlier call with the same key granted the points. */
  readonly replayed: boolean
}

/** A completed task. The plugin that reports it must have checked that the user completed it. */
export interface TaskReward {
  /**
   * Code of a rule of type `task`: `profile-completion`, `first-order`, `review-reward`, or one that an operator added.
   */
  readonly task: string
  readonly userId: number
  /**
   * What is rewarded, such as the id of a review; 1 to 100 characters. Each subject is rewarded once. Without it, or if
   * the rule sets `once`, each user is rewarded once. Required for `review-reward`.
   */
  readonly subject?: string
}

export interface PointsPayment {
  readonly userId: number
  /** 1 or more. */
  readonly points: number
  /** 1 to 255 characters, starting with the name of the calling plugin. */
  readonly key: string
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
 * Points of members. This plugin stores rules and sources of points; the money ledger stores balances. Every method
 * joins the transaction of its caller.
 */
export interface MemberPoints {
  /** @throws BusinessError `404` `member-points.rule-unknown`; `400` `member-points.key-invalid` */
  rewardTask(reward: TaskReward): Promise<Reward>
  /**
   * Grants a prize that a lottery decided. The idempotency key is
   * `member-points:marketing-lottery:{userId}:{operationKey}`.
   *
   * @param operationKey 1 to 150 characters; the same key grants only once per user
   * @param points 1 to 1,000,000,000
   * @throws BusinessError `409` `money.idempotency-mismatch` if the key was used with another number of points; `400`
   * `member-points.key-invalid`; `400` `member-points.amount-invalid`
   */
  rewardLottery(userId: number, operationKey: string, points: number): Promise<Reward>
  /**
   * Debits the points that expire first.
   *
   * @throws BusinessError `409` `money.balance-insufficient`, `409` `money.idempotency-mismatch`, `409`
   *   `money.account-closed`
   */
  spend(payment: PointsPayment): Promise<PointsPaid>
  /**
   * Debits expired points of all assets with `lotRepository`. Skips an asset that another run processes. If a run is
   * aborted, the next run continues its work.
   */
  expire(signal?: AbortSignal): Promise<void>
  /** Adds new ledger entries to the daily totals of all assets with `lotRepository`. */
  countDays(signal?: AbortSignal): Promise<void>
  /**
   * Stores the lots of a points asset that another plugin adds: `contribute(ledgerAssets, 'points:vip', { ..., lots:
   * memberPoints.lotRepository })`. Rules may only use assets with this lot repository.
   */
  readonly lotRepository: LotRepository
}

export const memberPoints = service<MemberPoints>('member-points', { from: '@plinth/member-points' })
