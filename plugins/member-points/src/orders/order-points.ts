import { maxRewardPoints, type RuleSettings } from '../rules/rule-types.ts'

/** Returns the points for the cash amount of an order, rounded down. */
export function orderPoints(
  paid: number,
  { points = 0, perAmount = 1, maxPoints = maxRewardPoints }: Pick<RuleSettings, 'points' | 'perAmount' | 'maxPoints'>,
): number {
  const earned = (BigInt(paid) * BigInt(points)) / BigInt(perAmount)
  return earned > BigInt(maxPoints) ? maxPoints : Number(earned)
}

/** State of a rewarded order. Amounts are minor units. */
interface RewardedOrder {
  readonly paid: number
  /** Cash that was refunded so far. */
  readonly refunded: number
  readonly granted: number
}

/**
 * Returns the points that all refunds so far take back (decision B9). They are a share of the granted points and do not
 * depend on the current rule. Rounded down, at most `granted`, and exactly `granted` after a full refund.
 */
export function reversalTarget({ paid, refunded, granted }: RewardedOrder): number {
  if (refunded >= paid) return granted
  return Number((BigInt(granted) * BigInt(refunded)) / BigInt(paid))
}

/** Points of an order when a refund happens. */
interface ReversibleOrder {
  readonly granted: number
  /** Points granted by the order that have expired. */
  readonly expired: number
  /** Points that earlier refunds took or claimed, or that are still owed for them. */
  readonly settled: number
  /** Points granted by the order that are on hold and that no refund has claimed. */
  readonly held: number
}

export interface Reversal {
  /** Points to debit now. */
  readonly deducted: number
  /** Points on hold that are taken when the hold ends (decision F.7). */
  readonly claimed: number
  /** Points that cannot be taken. */
  readonly shortfall: number
  /** The part of `shortfall` that later rewards pay. */
  readonly owed: number
}

/**
 * Divides the points that a refund takes back. The balance never becomes negative. The member has already lost expired
 * points, so other points are taken instead of them only if the rule allows it.
 *
 * @param expected points to take back
 * @param spendable points that the member can spend
 */
export function splitReversal(
  expected: number,
  spendable: number,
  { granted, expired, settled, held }: ReversibleOrder,
  { recovery = 'none', recoverExpired = false }: Pick<RuleSettings, 'recovery' | 'recoverExpired'>,
): Reversal {
  const recoverable = Math.max(0, Math.min(expected, granted - (recoverExpired ? 0 : expired) - settled))
  const deducted = Math.min(recoverable, spendable)
  const claimed = Math.min(recoverable - deducted, held)
  const shortfall = expected - deducted - claimed
  return { deducted, claimed, shortfall, owed: recovery === 'future-grants' ? recoverable - deducted - claimed : 0 }
}
