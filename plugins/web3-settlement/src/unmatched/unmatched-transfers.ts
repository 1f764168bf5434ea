import type { PaymentOrder } from '@plinth/money/payments'
import { chainFactChecks } from '../planning/checked-facts.ts'
import { type ConsumedTransfer, matterOf, type PlanInput } from '../planning/plan-input.ts'
import type { BlockingReason } from '../planning/reasons.ts'
import { acceptsAmount, type ExpectedTransfer, type Transfer, transfersTo } from '../planning/transfers.ts'

/**
 * Why a transfer settles no order. `late`: its order is closed. `double`: its order is already paid. `short`, `long`: the
 * amount is smaller or larger than that of its order. `unknown`: the token is not the one of its order, or its order
 * lacks terms.
 */
export const unmatchedKinds = ['late', 'double', 'short', 'long', 'unknown'] as const
export type UnmatchedKind = (typeof unmatchedKinds)[number]

export interface UnmatchedTransfer {
  readonly kind: UnmatchedKind
  readonly transfer: Transfer
  readonly blockNumber: number
}

/** Maximum number of transfers of one transaction. A contract can log thousands of transfers in one transaction. */
const maxTransfers = 100

/** Reasons of a plan despite which the transfers of its transaction are final. */
const finalDespite: ReadonlySet<BlockingReason> = new Set([
  'local-order-already-paid',
  'local-order-not-settleable',
  'transfer-missing',
  'receiver-address-mismatch',
  'token-contract-mismatch',
  'amount-mismatch',
  'transaction-already-exists',
])

/** True if the transaction is confirmed, so that a plan with these reasons shows transfers that are final. */
export const isFinal = (reasons: readonly BlockingReason[]) => reasons.every((reason) => finalDespite.has(reason))

/**
 * Returns the transfers to the receiver of the order that settle no order, the largest first. Transfers to other
 * receivers are not money of the shop.
 *
 * @param input input of a plan that is final
 * @param consumed transfers that are already used
 */
export function unmatchedTransfers(
  input: PlanInput,
  consumed: readonly ConsumedTransfer[],
): readonly UnmatchedTransfer[] {
  const { order, receipt, expected } = matterOf(input, chainFactChecks)
  if (order === null || receipt === null || expected.receiver === null) return []
  const { blockNumber } = receipt
  return transfersTo(receipt.logs, expected.receiver)
    .filter(({ value, ordinal }) => value > 0n && !consumed.some(({ logOrdinal }) => logOrdinal === ordinal))
    .flatMap((transfer) => {
      const kind = kindOf(order, expected, transfer)
      return kind === undefined ? [] : [{ kind, transfer, blockNumber }]
    })
    .sort((one, other) => (one.transfer.value < other.transfer.value ? 1 : -1))
    .slice(0, maxTransfers)
}

/** Returns undefined for a transfer that can settle its order. */
function kindOf(
  { status }: { readonly status: string },
  { token, value, tolerance = 0 }: ExpectedTransfer,
  transfer: Transfer,
): UnmatchedKind | undefined {
  if (token === null || transfer.token !== token) return 'unknown'
  if (status === 'success' || status === 'refunded') return 'double'
  if (status !== 'pending') return 'late'
  if (value === null) return 'unknown'
  if (acceptsAmount(value, transfer.value, tolerance)) return undefined
  return transfer.value < value ? 'short' : 'long'
}

/**
 * Returns the value of a transfer in minor units of the order's asset, rounded down; null if the token has no price in
 * this asset, or if the amount is too large.
 */
export function minorUnitsOf(
  transfer: Pick<Transfer, 'token' | 'value'>,
  { token, value }: ExpectedTransfer,
  { amount }: Pick<PaymentOrder, 'amount'>,
): number | null {
  if (token === null || transfer.token !== token || value === null) return null
  const units = (transfer.value * BigInt(amount)) / value
  return units <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(units) : null
}
