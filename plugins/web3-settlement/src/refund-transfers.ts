import type {
  PaymentOrder,
  PaymentTransaction,
  RefundQuery,
  RefundSearch,
  RefundVerifier,
} from '@plinth/money/payments'
import { settlementType } from './candidates.ts'
import type { Parts } from './parts.ts'
import { chainFactChecks } from './planning/checked-facts.ts'
import { planSettlement } from './planning/plan.ts'
import { addressOf, amountOf, matterOf, type PlanInput } from './planning/plan-input.ts'
import type { BlockingReason } from './planning/reasons.ts'
import { transfersTo } from './planning/transfers.ts'

type Problem = Exclude<RefundSearch['outcome'], 'found'>

/** Reasons of a plan that prevent a refund, the first match counts. A transfer that is missing never needs a wait. */
const problems: readonly (readonly [problem: Problem, reasons: readonly BlockingReason[]])[] = [
  ['not-verifiable', ['chain-not-configured', 'chain-id-mismatch', 'rpc-query-failed']],
  [
    'transfer-missing',
    ['chain-transaction-failed', 'transfer-missing', 'receiver-address-mismatch', 'token-contract-mismatch'],
  ],
  ['unconfirmed', ['chain-transaction-not-mined', 'chain-confirmations-insufficient', 'transfer-removed']],
]

/** Finds the transfers of a refund with the checks of a settlement, but from the shop to the payer. */
export class RefundTransfers implements RefundVerifier {
  readonly #parts: Pick<Parts, 'chains'>

  constructor(parts: Pick<Parts, 'chains'>) {
    this.#parts = parts
  }

  async find({
    order,
    transactions,
    transactionHash,
    amount,
    receiver: requested,
    unmatched,
  }: RefundQuery): Promise<RefundSearch> {
    const { chainName } = order
    const receiver = addressOf(requested ?? unmatched?.from ?? payerOf(order, transactions))
    if (receiver === null || receiver === addressOf(order.receiver)) {
      return { outcome: 'receiver-needed', data: { field: 'receiver' } }
    }
    const token = addressOf(unmatched?.token ?? order.tokenContract)
    const paid = amountOf(unmatched?.value ?? order.amountRaw)
    if (chainName === null || token === null || paid === null) {
      return { outcome: 'not-verifiable', data: { cause: 'order-terms-missing' } }
    }
    const input = await this.#inputOf({ ...order, receiver, tokenContract: token }, chainName, transactionHash)
    const { reasons, confirmations, requiredConfirmations } = planSettlement(input)
    for (const [outcome, found] of problems) {
      const cause = reasons.find((reason) => found.includes(reason))
      if (cause !== undefined) return { outcome, data: { cause, receiver, confirmations, requiredConfirmations } }
    }
    // Distance from the amount, in minor units of the order multiplied by `paid`. An unmatched payment is returned as a
    // whole, so the values must be equal.
    const [part, whole] = unmatched === undefined ? [BigInt(amount), BigInt(order.amount)] : [paid, paid]
    const distanceOf = (value: bigint) => {
      const distance = value * whole - paid * part
      return distance < 0n ? -distance : distance
    }
    const { receipt } = matterOf(input, chainFactChecks)
    const transfers = transfersTo(receipt?.logs ?? [], receiver)
      .filter((transfer) => transfer.token === token)
      .map((transfer) => ({ transfer, distance: distanceOf(transfer.value) }))
      .filter(({ distance }) => distance < paid)
      .sort((one, other) => Number(one.distance - other.distance) || one.transfer.ordinal - other.transfer.ordinal)
      .map(({ transfer: { from, to, value, logIndex, ordinal } }) => ({
        chainName,
        logOrdinal: ordinal,
        facts: {
          blockNumber: receipt?.blockNumber,
          blockHash: receipt?.blockHash,
          logIndex,
          from,
          to,
          token,
          value: String(value),
          confirmations,
          requiredConfirmations,
        },
      }))
    if (transfers.length > 0) return { outcome: 'found', transfers }
    return { outcome: 'transfer-missing', data: { cause: 'amount-mismatch', receiver } }
  }

  /** Asks for a transfer of any amount, because the amount is rounded to minor units. */
  async #inputOf(order: PaymentOrder, chainName: string, transactionHash: string): Promise<PlanInput> {
    const { chains } = this.#parts
    const chain = (await chains.get(chainName)) ?? null
    const facts = await chains
      .factsOfMany(chainName, [transactionHash])
      .then((found) => found.get(transactionHash))
      .catch(() => undefined)
    const expected = { ...order, status: 'pending', amountRaw: null, transactionHash, payer: null }
    return { outTradeNo: order.outTradeNo, order: expected, chain, facts, consumed: [] }
  }
}

/** Returns the address that sent the payment. */
function payerOf({ payer }: PaymentOrder, transactions: readonly PaymentTransaction[]): string | null {
  const from = transactions.find(({ type }) => type === settlementType)?.facts?.['from']
  return typeof from === 'string' ? from : payer
}
