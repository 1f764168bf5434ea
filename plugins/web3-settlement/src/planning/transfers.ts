import { createHash } from 'node:crypto'
import type { CheckedLog } from './checked-facts.ts'

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

/** Keccak-256 of `Transfer(address,address,uint256)` (EIP-20). ERC-721 has the same, with four topics. */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** A token transfer that a transaction logged. */
export interface Transfer {
  readonly token: string
  readonly from: string
  readonly to: string
  /** Smallest units of the token, a uint256. */
  readonly value: bigint
  readonly logIndex: number
  readonly ordinal: number
  readonly removed: boolean
}

/** What the order says of the transfer that pays it; null where it says nothing usable. Addresses in lower case. */
export interface ExpectedTransfer {
  readonly token: string | null
  readonly receiver: string | null
  /** 1 to 2^256 - 1. */
  readonly value: bigint | null
}

type TransferMismatch = 'receiver-address-mismatch' | 'token-contract-mismatch' | 'amount-mismatch'

/** Names one log of a transaction: in its block, or among the logs of the transaction. */
export interface TransferPick {
  readonly logIndex?: number | null | undefined
  readonly ordinal?: number | null | undefined
}

export interface TransferChoice {
  /** Null: the transaction logged no transfer. */
  readonly transfer: Transfer | null
  readonly mismatches: readonly TransferMismatch[]
  /** Transfers that are exactly as expected, as far as the order says what to expect. */
  readonly matching: number
}

const paddedAddress = /^0x0{24}[0-9a-f]{40}$/

/** The transfer that a log is; `undefined` for another one, also for one with the same topic in another shape. */
function transferOf({ address, topics, data, logIndex, ordinal, removed }: CheckedLog): Transfer | undefined {
  const [topic, from = '', to = ''] = topics
  if (topic !== transferTopic || topics.length !== 3 || data.length !== 66) return undefined
  if (!paddedAddress.test(from) || !paddedAddress.test(to)) return undefined
  const plain = (padded: string) => `0x${padded.slice(26)}`
  return { token: address, from: plain(from), to: plain(to), value: BigInt(data), logIndex, ordinal, removed }
}

/**
 * The transfer that pays the order, or the one that comes nearest: the fewest mismatches, then the lowest log index.
 *
 * @param logs in the order of their index
 * @param pick looks at this log alone
 */
export function chooseTransfer(
  logs: readonly CheckedLog[],
  expected: ExpectedTransfer,
  pick: TransferPick = {},
): TransferChoice {
  let choice: TransferChoice = { transfer: null, mismatches: [], matching: 0 }
  for (const log of logs) {
    if (typeof pick.logIndex === 'number' && log.logIndex !== pick.logIndex) continue
    if (typeof pick.ordinal === 'number' && log.ordinal !== pick.ordinal) continue
    const transfer = transferOf(log)
    if (transfer === undefined) continue
    const mismatches = mismatchesOf(transfer, expected)
    const matching = choice.matching + (mismatches.length === 0 ? 1 : 0)
    const isNearer = choice.transfer === null || mismatches.length < choice.mismatches.length
    choice = isNearer ? { transfer, mismatches, matching } : { ...choice, matching }
  }
  return choice
}

function mismatchesOf(transfer: Transfer, { token, receiver, value }: ExpectedTransfer): readonly TransferMismatch[] {
  const mismatches: TransferMismatch[] = []
  if (receiver !== null && transfer.to !== receiver) mismatches.push('receiver-address-mismatch')
  if (token !== null && transfer.token !== token) mismatches.push('token-contract-mismatch')
  if (value !== null && transfer.value !== value) mismatches.push('amount-mismatch')
  return mismatches
}
