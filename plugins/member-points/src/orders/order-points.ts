import { mostPoints, type RuleSettings } from '../rules/rule-types.ts'

/** Points for the cash amount of an order, rounded down (document 1, "Order reward"). */
export function orderPoints(
  paid: number,
  { points = 0, perAmount = 1, maxPoints = mostPoints }: Pick<RuleSettings, 'points' | 'perAmount' | 'maxPoints'>,
): number {
  const earned = (BigInt(paid) * BigInt(points)) / BigInt(perAmount)
  return earned > BigInt(maxPoints) ? maxPoints : Number(earned)
}

/** What stands of an order that was rewarded. Amounts are minor units. */
interface RewardedOrder {
  readonly paid: number
  /** Cash given back so far. */
  readonly refunded: number
  readonly granted: number
}

/**
 * Points that all refunds so far are to have taken back (decision B9): from the points that were granted, never from today's rule.
 * Rounded down, never more than was granted, and exactly that when all is refunded.
 */
export function reversalTarget({ paid, refunded, granted }: RewardedOrder): number {
  if (refunded >= paid) return granted
  return Number((BigInt(granted) * BigInt(refunded)) / BigInt(paid))
}

/** What the points of an order have become when a refund wants some back. */
interface ReversibleOrder {
  readonly granted: number
  /** Points of its lot that lapsed. */
  readonly expired: number
  /** Points that earlier refunds took or claim, or that are still owed for them. */
  readonly settled: number
  /** Points of its lot that are on hold and that no refund claims yet. */
  readonly held: number
}

export interface Reversal {
  /** Points to take from the account now. */
  readonly deducted: number
  /** Points on hold that are taken when the hold ends (decision F.7). */
  readonly claimed: number
  /** Points that cannot be taken. */
  readonly shortfall: number
  /** Of these, the ones that later rewards settle. */
  readonly owed: number
}

/**
 * Splits what a refund wants. The balance never becomes negative. Points that lapsed were lost to the member already: they are
 * not taken from other points unless the rule says so.
 *
 * @param wanted points
 * @param spendable points of the member's live lots
 */
export function splitReversal(
  wanted: number,
  spendable: number,
  { granted, expired, settled, held }: ReversibleOrder,
  { recovery = 'none', recoverExpired = false }: Pick<RuleSettings, 'recovery' | 'recoverExpired'>,
): Reversal {
  const recoverable = Math.max(0, Math.min(wanted, granted - (recoverExpired ? 0 : expired) - settled))
  const deducted = Math.min(recoverable, spendable)
  const claimed = Math.min(recoverable - deducted, held)
  const shortfall = wanted - deducted - claimed
  return { deducted, claimed, shortfall, owed: recovery === 'future-grants' ? recoverable - deducted - claimed : 0 }
}
