import { createHash } from 'node:crypto'
import type { Transfer } from './transfers.ts'

/** A claim of a pending order, or of an open review of one, on a transaction. */
export interface TransferClaim {
  readonly outTradeNo: string
  /** Grows with the time of creation; 0 when absent. */
  readonly orderId?: number
  /** The order or the review names the transaction. Otherwise its proven payer alone claims the transfer. */
  readonly namesTransaction: boolean
  /** Log that the review names; null: any of the transaction. */
  readonly logIndex: number | null
  /** Proven payer of the claiming order; null: none, or not known. */
  readonly payer: string | null
  /** The claiming order asks for the same amount of the same token, for the same receiver. */
  readonly hasEqualTerms: boolean
}

/** Facts that claims are compared with. */
interface ClaimedPlan {
  readonly outTradeNo: string
  readonly order: { readonly payer?: string | null | undefined } | null
  readonly transfer: Pick<Transfer, 'from' | 'logIndex'> | null
  /** More orders claim the transaction than the claims contain. */
  readonly hasMoreClaims?: boolean | undefined
}

/** Orders of one plan that are listed. */
const maxListed = 10

interface Rivals {
  /** Order numbers of the ten newest, the newest last. */
  readonly listed: readonly string[]
  /** Number of all of them, listed or not. */
  readonly total: number
  /** SHA-256 of all order numbers; null when there are more orders than were read. */
  readonly digest: string | null
}

/**
 * Other orders whose claims stand against this one (decision F.4). If the proven payer of this order sent the transfer, only a claim
 * of the same payer counts. If not, every order that names the transaction counts, and so does an order of the proven payer that
 * asks for the same and names no transaction yet.
 */
export function rivalsOf(claims: readonly TransferClaim[], plan: ClaimedPlan): Rivals {
  const { outTradeNo, order, transfer, hasMoreClaims = false } = plan
  const isSentByPayer = transfer !== null && order?.payer != null && order.payer === transfer.from
  const rivals = claims.filter((claim) => {
    if (claim.outTradeNo === outTradeNo) return false
    const isAboutTransfer = claim.logIndex === null || transfer === null || claim.logIndex === transfer.logIndex
    const isNamed = claim.namesTransaction && isAboutTransfer
    const isOfSender = transfer !== null && claim.payer === transfer.from && claim.hasEqualTerms
    return isSentByPayer ? isNamed && isOfSender : isNamed || isOfSender
  })
  const orders = [...new Map(rivals.map((claim) => [claim.outTradeNo, claim.orderId ?? 0]))]
  const oldestFirst = orders.sort(([one, oneId], [other, otherId]) => oneId - otherId || (one < other ? -1 : 1))
  const numbers = oldestFirst.map(([number]) => number)
  return {
    listed: numbers.slice(-maxListed),
    total: numbers.length,
    digest: hasMoreClaims ? null : createHash('sha256').update(JSON.stringify(numbers.toSorted())).digest('hex'),
  }
}

/** What a plan says about other orders. Total and digest are absent in plans that an earlier release has stored. */
interface ShownRivals {
  readonly claimedBy?: readonly string[]
  readonly claimedByTotal?: number
  readonly claimedByDigest?: string | null
}

export const totalOf = ({ claimedBy = [], claimedByTotal }: ShownRivals) => claimedByTotal ?? claimedBy.length

/**
 * A person who saw one plan has seen the other orders of a later one: each listed order was listed then. If the later plan does not
 * list all, its other orders are exactly those of the plan that the person saw.
 */
export function showsRivals(seen: ShownRivals, now: ShownRivals): boolean {
  const { claimedBy: listed = [], claimedByDigest: digest } = now
  if (digest == null) return false
  if (totalOf(now) > listed.length) return digest === seen.claimedByDigest
  return listed.every((one) => seen.claimedBy?.includes(one))
}
