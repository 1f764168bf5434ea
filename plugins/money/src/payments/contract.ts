import type { FoundPage, PageWindow, Selected } from '@plinth/database'
import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'
import type { orders, transactions } from './entities.ts'

/** Document 3, "paid" is `success` (decision A7). `pending` is the only one that others follow upon, but for a refund. */
export const paymentStatuses = ['pending', 'success', 'refunded', 'closed'] as const
export type PaymentStatus = (typeof paymentStatuses)[number]

/** What is to be paid, and what for. Terms never change: the same number with other terms is refused. */
export interface PaymentTerms {
  /** The payer's number of the order: 1 to 64 visible ASCII characters, unique in the product. */
  readonly outTradeNo: string
  /** By whom it is paid, such as `web3`: lower-case letters, digits and hyphens, 1 to 32. */
  readonly provider: string
  /** What for: the name of the handler that finishes it, such as `recharge`; 1 to 64 characters. */
  readonly scene: string
  /** Whose order it is. */
  readonly userId?: number
  /** Currency or ledger asset of `amount`: lower-case letters, digits and `: . -`, 1 to 64. */
  readonly asset: string
  /** Minor units of the asset, 1 to 2^53 - 1: what the order is worth here, however it is paid. */
  readonly amount: number
  /** Of a payment on a chain: the name of the chain, 1 to 64 characters. */
  readonly chainName?: string
  readonly chainId?: number
  /** Normalised address of the token. Absent: the chain's own coin. */
  readonly tokenContract?: string
  /** Normalised address that has to get it. */
  readonly receiver?: string
  /** Units of the token, decimal text within 256 bits without leading zeros. */
  readonly amountRaw?: string
  /** 1 or more; absent: what the chain is configured with when it is looked at. */
  readonly requiredConfirmations?: number
}

/** How the payer of an order was proven: by an address bound to the buyer's account, or by a signature over the order number. */
export const payerProofs = ['account', 'signature'] as const
export type PayerProof = (typeof payerProofs)[number]

/** A payment order (document 3, "Records"; decision A7). Absent members of its terms are null. */
export type PaymentOrder = Selected<typeof orders>

/** What was paid or paid back on an order; never changed. */
export type PaymentTransaction = Selected<typeof transactions>

/** Finishes what a paid order was for. Contributed under the name of its scene. */
export interface PaymentSuccessHandler {
  /**
   * Called inside the transaction that settles the order, which is `success` in it. It talks to the database only, may be called
   * again after a conflict, and does its work once for an order number. What it throws rolls the settlement back.
   */
  paid(order: PaymentOrder): Promise<void>
  /** The same for a refund, whole or in part. Absent: the order's own record is all there is to do. */
  refunded?(order: PaymentOrder, refund: PaymentRefund): Promise<void>
  /** True where the module books the refunds of its orders. Operators book none of them here: the module would not know of it. */
  readonly refundsItself?: boolean
}

/** Handlers by scene. An order whose scene has none is not settled: nobody would give the payer anything. */
export const paymentSuccess = extensionPoint<PaymentSuccessHandler>('money.payment-success', {
  from: '@plinth/money/payments',
  live: true,
  names: shape.coded,
  shape: shape.object<PaymentSuccessHandler>(
    { paid: shape.function },
    { refunded: shape.function, refundsItself: shape.flag },
  ),
})

/** What settles an order: one transaction at the provider or on the chain. */
export interface Settlement {
  readonly outTradeNo: string
  /** Kind of transaction, such as `web3-settlement`; 1 to 32 characters, not `refund`. */
  readonly type: string
  /** Number of the transaction at the provider, or its normalised hash; 1 to 128 visible ASCII characters. */
  readonly transactionHash: string
  /** `chainName:transactionHash:logIndex`: consumed once over all orders; 1 to 255 characters. */
  readonly eventKey?: string
  /** With `logOrdinal` the second key of an event on a chain, which stays when a reorganisation shifts log indexes. */
  readonly chainName?: string
  /** Place of the event among those of its transaction, the first is 0. */
  readonly logOrdinal?: number
  /** Facts for those who look at it later: at most 16 KiB of JSON, without secrets. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Version of the order that the settlement was decided on; another one is a conflict. */
  readonly expectedVersion?: number
}

/** Why an order was not settled (document 3, "Reason codes"); `handler-missing`: nothing finishes its scene. */
export const settlementSkips = [
  'order-not-found',
  'local-order-already-paid',
  'order-not-settleable',
  'order-update-conflict',
  'transaction-already-exists',
  'handler-missing',
] as const
export type SettlementSkip = (typeof settlementSkips)[number]

/** A skipped settlement has written nothing. */
export type SettlementOutcome =
  | { readonly outcome: 'settled'; readonly order: PaymentOrder; readonly transactionId: number }
  | { readonly outcome: 'skipped'; readonly reason: SettlementSkip; readonly order: PaymentOrder | null }

export interface PaymentRefund {
  readonly outTradeNo: string
  /** Number of the refund, 1 to 128 visible ASCII characters: the same number is carried out once. */
  readonly refundNo: string
  /** Minor units of the order's asset, 1 or more. */
  readonly amount: number
  /** For people; at most 200 characters. */
  readonly reason?: string
}

export interface Refunded {
  readonly order: PaymentOrder
  /** True when the refund was carried out before and nothing was done now. */
  readonly replayed: boolean
}

export interface PaymentFilter {
  readonly status?: PaymentStatus
  readonly provider?: string
  readonly userId?: number
  /** The rows that a caller may read: `callerRows(request, orderOwner)`. Absent: all. */
  readonly rows?: object
}

export interface TransactionFilter {
  readonly outTradeNo?: string
  readonly type?: string
  /** The rows that a caller may read: `callerRows(request, throughOrder('out_trade_no'))`. Absent: all. */
  readonly rows?: object
}

/** How a payment order leads to its user, for `callerRows`. */
export const orderOwner = 'user_id'

/**
 * How a row that names a payment order leads to the user of the order, for `callerRows`.
 *
 * @param column column with the `outTradeNo`, by its name in the database
 */
export const throughOrder = (column: string) => ({
  column,
  through: 'money_payment_order',
  key: 'out_trade_no',
  owner: orderOwner,
})

/** Orders, or transactions of a chain, of which at most 200 are asked about at once. */
export type TransactionsAsked =
  | { readonly outTradeNos: readonly string[] }
  | { readonly chainName: string; readonly transactionHashes: readonly string[] }

/** Asks which pending orders of a chain claim transfers. At most 200 hashes and 200 payers. */
export interface ClaimsAsked {
  readonly chainName: string
  /** In lower case. */
  readonly transactionHashes: readonly string[]
  /** Addresses that sent the transfers, in lower case. */
  readonly payers: readonly string[]
}

/** Orders that one `PaymentClaim` lists. */
export const maxClaimOrders = 1_000

export interface ClaimOrder {
  readonly id: number
  readonly outTradeNo: string
}

/** Pending orders that claim the same transfer in the same way, combined. */
export interface PaymentClaim {
  /** Transaction that the orders name; null: they name no transaction. */
  readonly transactionHash: string | null
  /** Proven payer of the orders; null in rows about a transaction, which count orders with and without a payer. */
  readonly payer: string | null
  readonly tokenContract: string | null
  readonly receiver: string | null
  readonly amountRaw: string | null
  /** The newest of the orders, the newest first, at most `maxClaimOrders`. */
  readonly newest: readonly ClaimOrder[]
  /** Number of all of the orders, also those that `newest` omits. */
  readonly total: number
}

/** A part of the paid orders of a provider. `limit` is 1 to 200. */
export type PaidWalk =
  /** In the order of their ids, after the order `afterId`. */
  | { readonly afterId: number; readonly limit: number }
  /** The latest payments first: later than `paidAfter`, up to `paidUntil`, and earlier than the payment `before`. Times in milliseconds. */
  | {
      readonly paidAfter: number
      readonly paidUntil: number
      readonly before?: { readonly paidAt: number; readonly id: number } | undefined
      readonly limit: number
    }

/**
 * Payment orders and what was paid on them. An order moves `pending -> success -> refunded` or `pending -> closed`, each by one
 * conditional update, and never back. Every method joins the transaction of its caller.
 */
export interface Payments {
  /**
   * Creates an order; the same terms again answer the order that there is.
   *
   * @throws BusinessError `400` `payment.terms-invalid` with field and rule, `400` `payment.scene-unknown` when nothing would
   *   finish it, `409` `payment.terms-differ` when the number has other terms
   */
  create(terms: PaymentTerms): Promise<PaymentOrder>
  /** @param rows as `PaymentFilter.rows`; an order outside them does not exist for the caller */
  find(outTradeNo: string, rows?: object): Promise<PaymentOrder | undefined>
  /**
   * Those of at most 200 orders that there are, by their numbers, in one statement.
   *
   * @throws RangeError for more
   */
  findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>>
  /**
   * Orders of a provider that are paid, in the order of their ids, in one statement: for those who walk all of them.
   *
   * @param afterId id of the last order of the part before, 0 for the first part
   * @param limit 1 to 200; with fewer orders the walk is at its end
   * @throws RangeError for another limit
   */
  paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]>
  /**
   * Several parts of the paid orders of a provider, in one statement: for audits that combine walks.
   *
   * @returns a list for each walk, in the order of the walks
   * @throws RangeError for another limit
   */
  paidWalks(provider: string, walks: readonly PaidWalk[]): Promise<readonly (readonly PaymentOrder[])[]>
  /**
   * Pending orders of a chain that claim transfers, because they name the transaction or because the sender is their proven payer.
   *
   * @throws RangeError for more than 200
   */
  pendingClaims(asked: ClaimsAsked): Promise<readonly PaymentClaim[]>
  /**
   * @param rows as for `find`
   * @throws BusinessError `404` `payment.order-unknown`
   */
  get(outTradeNo: string, rows?: object): Promise<PaymentOrder>
  list(filter: PaymentFilter, window: PageWindow): Promise<FoundPage<PaymentOrder>>
  transactions(filter: TransactionFilter, window: PageWindow): Promise<FoundPage<PaymentTransaction>>
  /**
   * What was paid on many orders, or by many transactions of a chain, the oldest first, in one statement.
   *
   * @throws RangeError for more than 200
   */
  transactionsOf(asked: TransactionsAsked): Promise<readonly PaymentTransaction[]>
  /**
   * Nobody pays it any more. Closing what is closed does nothing.
   *
   * @param expectedVersion version of the order that the decision was made on; an order with another version stays pending
   * @returns the order as it is then
   * @throws BusinessError `404` `payment.order-unknown`, `409` `payment.order-not-pending` with `data.status`
   */
  close(outTradeNo: string, expectedVersion?: number): Promise<PaymentOrder>
  /**
   * Notes by what the payer says to have paid. It settles nothing.
   *
   * @param transactionHash as in `Settlement`; the hash of a transaction on a chain is stored in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409` `payment.order-not-pending`
   */
  attachTransaction(outTradeNo: string, transactionHash: string): Promise<PaymentOrder>
  /**
   * Stores who has to send the payment of a pending order. The caller has checked the proof. The payer of an order never changes.
   *
   * @param payer address in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409` `payment.order-not-pending`,
   *   `409` `payment.payer-differs` when the order has another payer
   */
  provePayer(outTradeNo: string, payer: string, proof: PayerProof): Promise<PaymentOrder>
  /**
   * Settles an order in one transaction: the order becomes `success`, its transaction is written, the handler of its scene does
   * its work and `money.payment.succeeded` is published. Of any number of callers, on any instances, one settles; each event of
   * a chain is consumed once. Everything that was decided before is the caller's: whether the payment was made is not looked at.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, and what the handler throws; then nothing was written
   */
  settle(settlement: Settlement): Promise<SettlementOutcome>
  /**
   * Books a refund, whole or in part; moving the money is the caller's. With the last unit the order is `refunded`.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409` `payment.order-not-paid` with
   *   `data.status`, `409` `payment.refund-exceeds-paid` with `data.refundable`, `409` `payment.refund-differs` when the number
   *   has another amount; and what the handler throws
   */
  refund(refund: PaymentRefund): Promise<Refunded>
}

/** Payment orders. */
export const payments = service<Payments>('money.payments', { from: '@plinth/money/payments' })

const number = Type.String({ minLength: 1, maxLength: 64 })
const amount = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const about = {
  outTradeNo: number,
  provider: number,
  scene: number,
  userId: Type.Optional(Type.Integer({ minimum: 1 })),
  asset: number,
}

/** An order was settled. Published in its transaction, under the key `payment:{outTradeNo}`. */
export const paymentSucceeded = event(
  'money.payment.succeeded',
  Type.Object({ ...about, amount, paidAt: Type.Integer({ minimum: 0 }) }),
)

/** `amount` was paid back, `refundedAmount` in all. Published as `paymentSucceeded` is. */
export const paymentRefunded = event(
  'money.payment.refunded',
  Type.Object({ ...about, refundNo: Type.String({ minLength: 1, maxLength: 128 }), amount, refundedAmount: amount }),
)
