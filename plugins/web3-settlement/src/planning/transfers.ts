import { createHash } from 'node:crypto'
import type { CheckedLog } from './checked-facts.ts'

export interface TransferClaim {
  readonly outTradeNo: string
  /** Id of the order that claims the transfer. It is larger for newer orders. Default: 0. */
  readonly orderId?: number
  /**
   * True if the order or its review specifies the transaction. False if only the proven payer of the order sent the
   * transfer.
   */
  readonly namesTransaction: boolean
  /** Claimed log of the transaction; null if any log is claimed. */
  readonly logIndex: number | null
  /** Proven payer of the claiming order; null if unknown. */
  readonly payer: string | null
  /** True if token, receiver and amount of the claiming order accept the transfer, so that the claim could be right. */
  readonly acceptsTransfer: boolean
}

interface ClaimedPlan {
  readonly outTradeNo: string
  /** Proven payer of the order; null if any address may pay. */
  readonly payer: string | null
  readonly transfer: Pick<Transfer, 'from' | 'logIndex'> | null
  readonly hasMoreClaims?: boolean | undefined
}

const maxListed = 10

interface Rivals {
  /** Numbers of the ten newest orders, the newest last. */
  readonly listed: readonly string[]
  /** Number of orders, including those that are not listed. */
  readonly total: number
  /** SHA-256 of all order numbers; null if not all were read. */
  readonly digest: string | null
}

/**
 * Returns other orders that claim the same transfer and whose terms accept it. If the proven payer of the order sent the
 * transfer, the result contains orders of the same payer that specify the transaction. Otherwise it contains orders that
 * specify the transaction, and orders whose proven payer is the sender.
 */
export function competingOrdersOf(claims: readonly TransferClaim[], plan: ClaimedPlan): Rivals {
  const { outTradeNo, payer, transfer, hasMoreClaims = false } = plan
  const isSentByPayer = transfer !== null && payer === transfer.from
  const rivals = claims.filter((claim) => {
    if (claim.outTradeNo === outTradeNo || !claim.acceptsTransfer) return false
    const isAboutTransfer = claim.logIndex === null || transfer === null || claim.logIndex === transfer.logIndex
    const isNamed = claim.namesTransaction && isAboutTransfer
    const isOfSender = transfer !== null && claim.payer === transfer.from
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

/** Orders that a plan shows as claiming the same transfer. Plans of earlier releases have no total and no digest. */
interface ShownRivals {
  readonly claimedBy?: readonly string[]
  readonly claimedByTotal?: number
  readonly claimedByDigest?: string | null
}

export const countCompetingOrders = ({ claimedBy = [], claimedByTotal }: ShownRivals) =>
  claimedByTotal ?? claimedBy.length

/**
 * True if the plan `seen` shows all orders that the plan `now` shows. If `now` lists only some of its orders, the
 * digests must be equal.
 */
export function showsSameCompetingOrders(seen: ShownRivals, now: ShownRivals): boolean {
  const { claimedBy: listed = [], claimedByDigest: digest } = now
  if (digest == null) return false
  if (countCompetingOrders(now) > listed.length) return digest === seen.claimedByDigest
  return listed.every((one) => seen.claimedBy?.includes(one))
}

/** Keccak-256 of `Transfer(address,address,uint256)` (EIP-20). ERC-721 has the same first topic, but four topics. */
export const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

export interface Transfer {
  readonly token: string
  readonly from: string
  readonly to: string
  /** Amount in the smallest units of the token, a uint256. */
  readonly value: bigint
  readonly logIndex: number
  readonly ordinal: number
  readonly removed: boolean
}

/** Terms of the expected transfer. Missing or invalid terms are null. Addresses are in lower case. */
export interface ExpectedTransfer {
  readonly token: string | null
  readonly receiver: string | null
  /** Amount in the smallest units, 1 to 2^256 - 1. */
  readonly value: bigint | null
  /** Largest difference of the amount, in ten-thousandths. Default: 0. */
  readonly tolerance?: number | undefined
}

type TransferMismatch = 'receiver-address-mismatch' | 'token-contract-mismatch' | 'amount-mismatch'

/** Selects a transfer by its index in the block or by its position in the transaction. */
export interface TransferSelector {
  readonly logIndex?: number | null | undefined
  readonly ordinal?: number | null | undefined
}

export interface TransferSelection {
  /** Null if the transaction has no transfer. */
  readonly transfer: Transfer | null
  readonly mismatches: readonly TransferMismatch[]
  /** Number of transfers without a mismatch. Missing terms are not compared. */
  readonly matching: number
}

const paddedAddress = /^0x0{24}[0-9a-f]{40}$/

/** Reads a log as an ERC-20 transfer; undefined if it is not one. */
function transferOf({ address, topics, data, logIndex, ordinal, removed }: CheckedLog): Transfer | undefined {
  const [topic, from = '', to = ''] = topics
  if (topic !== transferTopic || topics.length !== 3 || data.length !== 66) return undefined
  if (!paddedAddress.test(from) || !paddedAddress.test(to)) return undefined
  const plain = (padded: string) => `0x${padded.slice(26)}`
  return { token: address, from: plain(from), to: plain(to), value: BigInt(data), logIndex, ordinal, removed }
}

/** Returns the transfers to a receiver, ordered as the logs. */
export const transfersTo = (logs: readonly CheckedLog[], receiver: string) =>
  logs.flatMap((log) => transferOf(log) ?? []).filter(({ to }) => to === receiver)

/** Parts of an amount in which a tolerance is counted: a tolerance of 100 is one percent. */
const toleranceParts = 10_000n

/**
 * True if an amount pays the expected amount.
 *
 * @param tolerance largest difference, in ten-thousandths of the expected amount
 */
export function acceptsAmount(expected: bigint, paid: bigint, tolerance: number): boolean {
  const difference = paid < expected ? expected - paid : paid - expected
  return difference * toleranceParts <= expected * BigInt(tolerance)
}

/**
 * Returns the transfer that pays the order, or the best match: fewest mismatches, then lowest log index.
 *
 * @param logs ordered by index
 * @param pick selects the only log that is considered
 */
export function chooseTransfer(
  logs: readonly CheckedLog[],
  expected: ExpectedTransfer,
  pick: TransferSelector = {},
): TransferSelection {
  let choice: TransferSelection = { transfer: null, mismatches: [], matching: 0 }
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

function mismatchesOf(
  transfer: Transfer,
  { token, receiver, value, tolerance = 0 }: ExpectedTransfer,
): readonly TransferMismatch[] {
  const mismatches: TransferMismatch[] = []
  if (receiver !== null && transfer.to !== receiver) mismatches.push('receiver-address-mismatch')
  if (token !== null && transfer.token !== token) mismatches.push('token-contract-mismatch')
  if (value !== null && !acceptsAmount(value, transfer.value, tolerance)) mismatches.push('amount-mismatch')
  return mismatches
}
