import { web3Addresses, zeroAddress } from '@plinth/web3'
import { type ChainFactCheck, type CheckedChainFacts, type CheckedReceipt, checkChainFacts } from './checked-facts.ts'
import {
  chooseTransfer,
  type ExpectedTransfer,
  type TransferClaim,
  type TransferSelection,
  type TransferSelector,
} from './transfers.ts'

export interface OrderInput {
  readonly outTradeNo: string
  readonly provider: string
  readonly status: string
  readonly chainName?: string | null | undefined
  readonly chainId?: number | null | undefined
  readonly tokenContract?: string | null | undefined
  readonly receiver?: string | null | undefined
  /** Smallest units as decimal text. */
  readonly amountRaw?: string | null | undefined
  readonly requiredConfirmations?: number | null | undefined
  readonly transactionHash?: string | null | undefined
  /** Proven payer; null if any address may pay. */
  readonly payer?: string | null | undefined
  /** Milliseconds since the epoch. */
  readonly createdAt?: number | undefined
}

export interface ChainInput {
  readonly name: string
  readonly chainId: number
  readonly enabled: boolean
  readonly requiredConfirmations: number | null
  /** `safe` and `finalized` require a block with this tag, in addition to the confirmations. */
  readonly finality: 'depth' | 'safe' | 'finalized'
  /** Digest of the settings that decide which facts count. */
  readonly settingsDigest?: string
}

export interface ConsumedTransfer {
  /** Order that the transfer has settled; null if it was used in another way. */
  readonly outTradeNo: string | null
  readonly logIndex: number | null
  readonly logOrdinal: number | null
}

export interface PlanInput {
  readonly outTradeNo: string
  readonly order: OrderInput | null
  readonly chain: ChainInput | null
  /**
   * Facts from a provider. They are not validated yet. An invalid value is treated as if the provider had not
   * responded.
   */
  readonly facts: unknown
  readonly consumed: readonly ConsumedTransfer[]
  /** Default: the transaction that the order specifies. */
  readonly transactionHash?: string | null | undefined
  readonly pick?: TransferSelector | undefined
  /** True if the settlement or an earlier plan saw the transaction in a block. */
  readonly wasMined?: boolean | undefined
  /** Overrides the number of confirmations that order and chain require. */
  readonly requiredConfirmations?: number | null | undefined
  /** Claims of orders that specify the transaction, or whose proven payer sent the transfer. */
  readonly claims?: readonly TransferClaim[] | undefined
  /** True if the address that sent the transfer is bound by key to the account of the buyer. Default: false. */
  readonly isSentByBuyer?: boolean | undefined
  /** True if `claims` does not list all orders that claim the transaction. */
  readonly hasMoreClaims?: boolean | undefined
  /** Largest accepted difference of the amount, in ten-thousandths of the order's amount. Default: 0. */
  readonly amountTolerance?: number | undefined
  /** Number of milliseconds by which the block may be older than the order. Default: 0. */
  readonly blockTimeToleranceMs?: number | undefined
}

export interface Matter {
  readonly input: PlanInput
  readonly order: OrderInput | null
  readonly chain: ChainInput | null
  readonly hash: string | null
  readonly expected: ExpectedTransfer
  readonly required: number | null
  /** Error code of the query for facts. */
  readonly error: string | null
  readonly facts: CheckedChainFacts | undefined
  readonly receipt: CheckedReceipt | null
  readonly choice: TransferSelection
  readonly confirmations: number | null
  /** Address of the proven payer; null if any address may pay. */
  readonly payer: string | null
}

const hashPattern = /^0x[0-9a-f]{64}$/
const largestAmount = 2n ** 256n - 1n

const noChoice: TransferSelection = { transfer: null, mismatches: [], matching: 0 }

export function matterOf(input: PlanInput, checks: readonly ChainFactCheck[]): Matter {
  const { order, chain, facts: given } = input
  const error = errorOf(given)
  const text = hashTextOf(input)?.toLowerCase()
  const hash = text !== undefined && hashPattern.test(text) ? text : null
  const isAskable = order !== null && chain?.enabled === true && hash !== null
  const facts = isAskable && error === null ? checkChainFacts(given, hash, checks) : undefined
  const receipt = facts?.receipt ?? null
  const expected = {
    token: addressOf(order?.tokenContract),
    receiver: addressOf(order?.receiver),
    value: amountOf(order?.amountRaw),
    tolerance: input.amountTolerance,
  }
  const choice = receipt === null ? noChoice : chooseTransfer(receipt.logs, expected, input.pick)
  const sender = input.isSentByBuyer === true ? choice.transfer?.from : undefined
  return {
    input,
    order,
    chain,
    hash,
    expected,
    required: requiredOf(input),
    error,
    facts,
    receipt,
    choice,
    payer: sender ?? order?.payer ?? null,
    confirmations: facts === undefined || receipt === null ? null : facts.head - receipt.blockNumber + 1,
  }
}

export const hasText = (text: string | undefined) => text !== undefined && text.trim() !== ''
export const hashTextOf = ({ transactionHash, order }: PlanInput): string | undefined =>
  (transactionHash ?? order?.transactionHash) || undefined

const errorOf = (facts: unknown): string | null =>
  typeof facts === 'object' && facts !== null && 'error' in facts ? String(facts.error) : null

export const wholeOf = (number: number | null | undefined): number | null =>
  typeof number === 'number' && Number.isSafeInteger(number) ? number : null
export const isLong = (count: number | null): count is number => count !== null && count >= 1

/**
 * Returns the number of required confirmations: the larger one of order and chain. So a larger number of the chain also
 * affects pending orders.
 */
function requiredOf({ order, chain, requiredConfirmations }: PlanInput): number | null {
  const given = wholeOf(requiredConfirmations)
  const ofChain = wholeOf(chain?.requiredConfirmations)
  if (given !== null || !isLong(ofChain)) return given
  return Math.max(wholeOf(order?.requiredConfirmations) ?? 0, ofChain)
}

/**
 * Returns an address in lower case. Null if the address is invalid or zero, because nobody can receive payments at
 * address zero.
 */
export function addressOf(text: string | null | undefined): string | null {
  const address = text == null ? null : web3Addresses.normalize(text)
  return address === zeroAddress ? null : address
}

/**
 * Returns an amount from 1 to 2^256 - 1; null for other texts. Zero is excluded, because anyone can make a transfer of
 * zero.
 */
export function amountOf(text: string | null | undefined): bigint | null {
  if (typeof text !== 'string' || !/^\d{1,80}$/.test(text)) return null
  const amount = BigInt(text)
  return amount >= 1n && amount <= largestAmount ? amount : null
}
