import type { CheckedLog } from './checked-facts.ts'

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
