import { type Database, insertMissingRows, type NewRow } from '@plinth/database'
import { type BusinessError, omitUndefined } from '@plinth/kernel'
import type {
  PaymentOrder,
  PaymentRefund,
  PaymentTransaction,
  RefundQuery,
  RefundRequest,
  RefundTransfer,
  RefundVerifier,
  UnmatchedPayment,
  UnmatchedRepayment,
} from './contract.ts'
import { businessError } from './declarations.ts'
import { UsedRefundRow } from './entities.ts'
import { refundType, repaymentTypeOf } from './terms.ts'
import type { TransactionRepository } from './transaction-repository.ts'

/** Provider whose payments the product cannot send back. */
export const chainProvider = 'web3'
const chainHash = /^0x[0-9a-f]{64}$/i
/** Position of a refund that used its whole transaction: of another provider, or of an earlier version. */
const wholeTransaction = -1

interface RefundDependencies {
  readonly db: Database
  readonly transactions: TransactionRepository
  readonly refundVerifiers: ReadonlyMap<string, RefundVerifier>
}

/** Finds refunds on their chain, and records each one once. */
export class Refunds {
  readonly #parts: RefundDependencies

  constructor(parts: RefundDependencies) {
    this.#parts = parts
  }

  /** Implements `Payments.checkRefund`. */
  async check(order: PaymentOrder, request: RefundRequest): Promise<PaymentRefund> {
    const { transactions } = this.#parts
    const { outTradeNo, provider, status } = order
    const { reason, receiver, recovery } = request
    const isOnChain = provider === chainProvider
    const refundNo = isOnChain ? request.refundNo.toLowerCase() : request.refundNo
    if (isOnChain && !chainHash.test(refundNo))
      throw businessError('refund-hash-needed', { data: { field: 'transactionHash' } })
    const recorded = await transactions.find(outTradeNo, refundType, refundNo)
    const amount = request.amount ?? recorded?.amount ?? order.amount - order.refundedAmount
    const refund: PaymentRefund = omitUndefined({ outTradeNo, refundNo, amount, reason, recovery })
    if (recorded !== undefined) return refund
    if (status !== 'success' || amount === 0)
      throw businessError('order-not-paid', { params: { status }, data: { status } })
    if (!isOnChain) return refund
    if (refundNo === order.transactionHash?.toLowerCase()) throw isPaymentError(refundNo)
    return { ...refund, transfers: await this.#search({ order, transactionHash: refundNo, amount, receiver }) }
  }

  /** Implements `Payments.checkUnmatchedRepayment`. */
  async checkRepayment(
    order: PaymentOrder,
    payment: UnmatchedPayment,
    { transactionHash, receiver }: Pick<RefundQuery, 'transactionHash' | 'receiver'>,
  ): Promise<UnmatchedRepayment> {
    const repaymentHash = transactionHash.toLowerCase()
    if (!chainHash.test(repaymentHash))
      throw businessError('refund-hash-needed', { data: { field: 'transactionHash' } })
    const { amount, facts: unmatched } = payment
    const query = { order, transactionHash: repaymentHash, amount, receiver, unmatched }
    return { payment, repaymentHash, transfers: await this.#search(query) }
  }

  async #search(query: Omit<RefundQuery, 'transactions'>): Promise<readonly RefundTransfer[]> {
    const { transactions, refundVerifiers } = this.#parts
    const { order, transactionHash } = query
    const verifier = refundVerifiers.get(order.provider)
    if (verifier === undefined) throw businessError('refund-not-verifiable', { data: { cause: 'verifier-missing' } })
    const search = await verifier.find({ ...query, transactions: await transactions.ofOrder(order.outTradeNo) })
    if (search.outcome === 'found') return search.transfers
    // A transaction may contain payments and refunds of several wallets, so its other transfers can be refunds.
    const isPayment = (await transactions.paymentsWith(transactionHash, order.chainName)).length > 0
    if (search.outcome === 'transfer-missing' && isPayment) throw isPaymentError(transactionHash)
    throw businessError(`refund-${search.outcome}`, { data: search.data })
  }

  /**
   * Writes the refund to the transactions, unless an earlier call of the same order did. Must be called inside a
   * database transaction.
   *
   * @returns false if the refund is already recorded
   * @throws BusinessError `409` `payment.refund-already-used`, `409` `payment.refund-is-payment`, `409`
   *   `payment.refund-differs`, `503` `payment.refund-not-verifiable`
   */
  async record(order: PaymentOrder, refund: PaymentRefund): Promise<boolean> {
    const { refundNo, amount, reason, transfers } = refund
    if (await this.#isRecorded(refund)) return false
    if (order.provider === chainProvider && chainHash.test(refundNo)) await this.#assertUsable(order, refund)
    const more = reason === undefined ? {} : { reason }
    const obstacle = await this.#recordFirst(order, refundNo, transfers ?? [undefined], amount, () => refundType, more)
    if (obstacle === undefined) return true
    // A concurrent call may have recorded the same refund.
    if (await this.#isRecorded(refund)) return false
    throw obstacle
  }

  /** Implements the second part of `Payments.repayUnmatched`. */
  async recordRepayment(order: PaymentOrder, repayment: UnmatchedRepayment): Promise<void> {
    const { payment, repaymentHash, transfers } = repayment
    await this.#assertUsable(order, { refundNo: repaymentHash, transfers })
    const more = { eventKey: payment.eventKey }
    const obstacle = await this.#recordFirst(order, repaymentHash, transfers, payment.amount, repaymentTypeOf, more)
    if (obstacle !== undefined) throw obstacle
  }

  /** Records the first transfer that is unused. @returns the error if all transfers are used */
  async #recordFirst<T extends RefundTransfer | undefined>(
    { outTradeNo, provider }: PaymentOrder,
    reference: string,
    transfers: readonly T[],
    amount: number,
    typeOf: (transfer: T) => string,
    more: Readonly<Record<string, unknown>>,
  ): Promise<BusinessError | undefined> {
    const { db, transactions } = this.#parts
    let isUnused = false
    for (const transfer of transfers) {
      const id = db.newId()
      if (!(await this.#use(useOf(id, provider, reference, transfer)))) continue
      isUnused = true
      const facts = { ...transfer?.facts, ...more }
      const added = await transactions.add(
        {
          outTradeNo,
          type: typeOf(transfer),
          transactionHash: reference,
          amount,
          chainName: transfer?.chainName ?? null,
          logOrdinal: transfer?.logOrdinal ?? null,
          facts: Object.keys(facts).length === 0 ? null : facts,
        },
        id,
      )
      if (added !== undefined) return undefined
      await db.execute('delete from money_used_refund where id = ?', [id])
    }
    return isUnused ? isPaymentError(reference) : alreadyUsedError(reference)
  }

  /** @throws BusinessError `409` `payment.refund-differs` if the refund was recorded with another amount */
  async #isRecorded({ outTradeNo, refundNo, amount }: PaymentRefund): Promise<boolean> {
    const recorded: PaymentTransaction | undefined = await this.#parts.transactions.find(
      outTradeNo,
      refundType,
      refundNo,
    )
    if (recorded === undefined) return false
    if (recorded.amount !== amount) throw businessError('refund-differs', { params: { refundNo }, data: { refundNo } })
    return true
  }

  /** Rejects a transaction whose used transfer is unknown, because it may be this one. */
  async #assertUsable(
    { provider, chainName }: PaymentOrder,
    { refundNo, transfers }: Pick<PaymentRefund, 'refundNo' | 'transfers'>,
  ): Promise<void> {
    const { db, transactions } = this.#parts
    if (transfers === undefined) throw businessError('refund-not-verifiable', { data: { cause: 'not-checked' } })
    const payments = await transactions.paymentsWith(refundNo, chainName)
    if (payments.some(({ logOrdinal }) => logOrdinal === null)) throw isPaymentError(refundNo)
    const earlier = await db.query(
      `select id from money_used_refund
       where provider = ? and chain_name in (?, '') and reference = ? and log_ordinal = ?`,
      [provider, chainName ?? '', refundNo, wholeTransaction],
    )
    if (earlier.length > 0) throw alreadyUsedError(refundNo)
  }

  /** Waits if a concurrent transaction uses the same transfer. @returns false if it is used */
  async #use(use: NewRow<typeof UsedRefundRow>): Promise<boolean> {
    const { db } = this.#parts
    await insertMissingRows(db, UsedRefundRow, ['provider', 'chainName', 'reference', 'logOrdinal'], [use])
    return (await db.query('select id from money_used_refund where id = ?', [use.id])).length === 1
  }
}

const useOf = (id: number, provider: string, reference: string, transfer: RefundTransfer | undefined) => ({
  id,
  provider,
  chainName: transfer?.chainName ?? '',
  reference,
  logOrdinal: transfer?.logOrdinal ?? wholeTransaction,
})

const isPaymentError = (refundNo: string) => businessError('refund-is-payment', { data: { refundNo } })
const alreadyUsedError = (refundNo: string) => businessError('refund-already-used', { data: { refundNo } })
