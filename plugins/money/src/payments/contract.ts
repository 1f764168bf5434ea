import type { FoundPage, PageWindow, Selected } from '@plinth/database'
import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'
import type { orders, transactions } from './entities.ts'

/**
 * Statuses of an order. `success` means paid (decision A7). A `pending` order becomes `success` or `closed`, and a paid
 * order can become `refunded`.
 */
export const paymentStatuses = ['pending', 'success', 'refunded', 'closed'] as const
export type PaymentStatus = (typeof paymentStatuses)[number]

/** The amount and the purpose of an order. Terms never change: the same number with other terms is rejected. */
export interface PaymentTerms {
  /** Number of the order: 1 to 64 visible ASCII characters, unique in the product. */
  readonly outTradeNo: string
  /** Payment provider, such as `web3`: 1 to 32 lower-case letters, digits and hyphens. */
  readonly provider: string
  /** Purpose: the name of the handler that completes the order, such as `recharge`; 1 to 64 characters. */
  readonly scene: string
  /** User who owns the order. */
  readonly userId?: number
  /** Currency or ledger asset of `amount`: 1 to 64 lower-case letters, digits and `: . -`. */
  readonly asset: string
  /** Value of the order in minor units of the asset, 1 to 2^53 - 1. It is the same for every way of payment. */
  readonly amount: number
  /** For a payment on a chain: the name of the chain, 1 to 64 characters. */
  readonly chainName?: string
  readonly chainId?: number
  /** Normalised address of the token. If absent, the order is paid in the native coin of the chain. */
  readonly tokenContract?: string
  /** Normalised address of the receiver. */
  readonly receiver?: string
  /** Units of the token as decimal text, within 256 bits and without leading zeros. */
  readonly amountRaw?: string
  /** 1 or more. Default: the number that is configured for the chain at the time of the check. */
  readonly requiredConfirmations?: number
}

/** Proof of the payer: an address bound to the buyer's account, or a signature over the order number. */
export const payerProofs = ['account', 'signature'] as const
export type PayerProof = (typeof payerProofs)[number]

/** A payment order (decision A7). Absent terms are null. */
export type PaymentOrder = Selected<typeof orders>

/** A payment or a refund of an order. It never changes. */
export type PaymentTransaction = Selected<typeof transactions>

/** Completes the purpose of a paid order. Contributed under the name of the scene. */
export interface PaymentSuccessHandler {
  /**
   * Called inside the transaction that settles the order, which is already `success` in it. It may only use the
   * database. It may be called again after a conflict and must have its effect once per order number. An error rolls
   * back the settlement.
   */
  paid(order: PaymentOrder): Promise<void>
  /** Like `paid`, for a full or partial refund. If absent, only the order records the refund. */
  refunded?(order: PaymentOrder, refund: PaymentRefund): Promise<void>
  /**
   * True if the module records the refunds of its orders itself. Operators then cannot record refunds here, because the
   * module would not be notified.
   */
  readonly refundsItself?: boolean
}

/** Handlers by scene. An order of a scene without a handler is not settled, because the payer would receive nothing. */
export const paymentSuccess = extensionPoint<PaymentSuccessHandler>('money.payment-success', {
  from: '@plinth/money/payments',
  live: true,
  names: shape.coded,
  shape: shape.object<PaymentSuccessHandler>(
    { paid: shape.function },
    { refunded: shape.function, refundsItself: shape.flag },
  ),
})

/** One transaction at the provider or on the chain that settles an order. */
export interface Settlement {
  readonly outTradeNo: string
  /** Kind of transaction, such as `web3-settlement`; 1 to 32 characters, not `refund`. */
  readonly type: string
  /** Number of the transaction at the provider, or its normalised hash; 1 to 128 visible ASCII characters. */
  readonly transactionHash: string
  /** `chainName:transactionHash:logIndex`, used once across all orders; 1 to 255 characters. */
  readonly eventKey?: string
  /**
   * Together with `logOrdinal`, a second key of a chain event. It stays the same when a reorganisation shifts log
   * indexes.
   */
  readonly chainName?: string
  /** Position of the event in its transaction, starting at 0. */
  readonly logOrdinal?: number
  /** Observations for a later review: at most 16,384 characters of JSON, without secrets. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Version of the order on which the decision is based. Another version is a conflict. */
  readonly expectedVersion?: number
}

/** Reason why an order was not settled. `handler-missing`: the scene of the order has no handler. */
export const settlementSkips = [
  'order-not-found',
  'local-order-already-paid',
  'order-not-settleable',
  'order-update-conflict',
  'transaction-already-exists',
  'handler-missing',
] as const
export type SettlementSkip = (typeof settlementSkips)[number]

/** Outcome of a settlement. A skipped settlement has written nothing. */
export type SettlementOutcome =
  | { readonly outcome: 'settled'; readonly order: PaymentOrder; readonly transactionId: number }
  | { readonly outcome: 'skipped'; readonly reason: SettlementSkip; readonly order: PaymentOrder | null }

export interface PaymentRefund {
  readonly outTradeNo: string
  /** Number of the refund, 1 to 128 visible ASCII characters. The same number is recorded once. */
  readonly refundNo: string
  /** Minor units of the order's asset, 1 or more. */
  readonly amount: number
  /** Displayed reason; at most 200 characters. */
  readonly reason?: string
}

export interface Refunded {
  readonly order: PaymentOrder
  /** True if an earlier call recorded the refund and this call changed nothing. */
  readonly replayed: boolean
}

export interface PaymentFilter {
  readonly status?: PaymentStatus
  readonly provider?: string
  readonly userId?: number
  /** Rows that the caller may read: `callerRows(request, orderOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface TransactionFilter {
  readonly outTradeNo?: string
  readonly type?: string
  /** Rows that the caller may read: `callerRows(request, throughOrder('out_trade_no'))`. Default: all rows. */
  readonly rows?: object
}

/** Path from a payment order to its user, for `callerRows`. */
export const orderOwner = 'user_id'

/**
 * Path from a row with an order number to the user of the order, for `callerRows`.
 *
 * @param column database column that contains the `outTradeNo`
 */
export const throughOrder = (column: string) => ({
  column,
  through: 'money_payment_order',
  key: 'out_trade_no',
  owner: orderOwner,
})

/** Specifies transactions by their orders, or by their hashes on a chain. At most 200 per call. */
export type TransactionsAsked =
  | { readonly outTradeNos: readonly string[] }
  | { readonly chainName: string; readonly transactionHashes: readonly string[] }

/** Query for the pending orders of a chain that claim transfers. At most 200 hashes and 200 payers. */
export interface ClaimsAsked {
  readonly chainName: string
  /** Hashes in lower case. */
  readonly transactionHashes: readonly string[]
  /** Addresses that sent the transfers, in lower case. */
  readonly payers: readonly string[]
}

/** Maximum number of orders in one `PaymentClaim`. */
export const maxClaimOrders = 1_000

export interface ClaimOrder {
  readonly id: number
  readonly outTradeNo: string
}

/** Pending orders that claim the same transfer in the same way, combined. */
export interface PaymentClaim {
  /** Transaction that the orders specify; null if they specify none. */
  readonly transactionHash: string | null
  /** Proven payer of the orders; null in rows about a transaction, which count orders with and without a payer. */
  readonly payer: string | null
  readonly tokenContract: string | null
  readonly receiver: string | null
  readonly amountRaw: string | null
  /** The newest orders, at most `maxClaimOrders`. The newest one is first. */
  readonly newest: readonly ClaimOrder[]
  /** Total number of orders, including those that `newest` omits. */
  readonly total: number
}

/** A part of the paid orders of a provider. `limit` is 1 to 200. */
export type PaidWalk =
  /** Orders after the order `afterId`, in the order of their ids. */
  | { readonly afterId: number; readonly limit: number }
  /**
   * Orders that were paid after `paidAfter`, until `paidUntil`, and before the payment `before`. The latest payment is
   * first. Times are in milliseconds.
   */
  | {
      readonly paidAfter: number
      readonly paidUntil: number
      readonly before?: { readonly paidAt: number; readonly id: number } | undefined
      readonly limit: number
    }

/**
 * Payment orders and their payments. The status of an order changes `pending -> success -> refunded` or
 * `pending -> closed`, and never back. Each change is one conditional update. Every method joins the transaction of its
 * caller.
 */
export interface Payments {
  /**
   * Creates an order. A repeated call with the same terms returns the existing order.
   *
   * @throws BusinessError `400` `payment.terms-invalid` with field and rule, `400` `payment.scene-unknown` if the scene
   * has no handler, `409` `payment.terms-differ` if the number has other terms
   */
  create(terms: PaymentTerms): Promise<PaymentOrder>
  /**
   * Returns the order with this number, or `undefined`.
   *
   * @param rows rows that the caller may read, see `PaymentFilter.rows`; orders outside these rows are not found
   */
  find(outTradeNo: string, rows?: object): Promise<PaymentOrder | undefined>
  /**
   * Returns the orders that exist among at most 200 order numbers, in one statement.
   *
   * @throws RangeError for more than 200 numbers
   */
  findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>>
  /**
   * Returns a part of all paid orders of a provider, in the order of their ids, in one statement.
   *
   * @param afterId id of the last order of the previous part, 0 for the first part
   * @param limit 1 to 200; fewer orders mean the last part
   * @throws RangeError for another limit
   */
  paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]>
  /**
   * Returns several parts of the paid orders of a provider in one statement, for audits that combine walks.
   *
   * @returns a list for each walk, in the order of the walks
   * @throws RangeError for another limit
   */
  paidWalks(provider: string, walks: readonly PaidWalk[]): Promise<readonly (readonly PaymentOrder[])[]>
  /**
   * Returns the claims of pending orders of a chain on transfers. An order claims a transfer if it specifies the
   * transaction, or if its proven payer sent the transfer.
   *
   * @throws RangeError for more than 200 hashes or payers
   */
  pendingClaims(requested: ClaimsAsked): Promise<readonly PaymentClaim[]>
  /**
   * Like `find`, for an order that must exist.
   *
   * @throws BusinessError `404` `payment.order-unknown`
   */
  get(outTradeNo: string, rows?: object): Promise<PaymentOrder>
  list(filter: PaymentFilter, window: PageWindow): Promise<FoundPage<PaymentOrder>>
  transactions(filter: TransactionFilter, window: PageWindow): Promise<FoundPage<PaymentTransaction>>
  /**
   * Returns the payments of many orders, or of many transactions of a chain, oldest first, in one statement.
   *
   * @throws RangeError for more than 200 orders or transactions
   */
  transactionsOf(requested: TransactionsAsked): Promise<readonly PaymentTransaction[]>
  /**
   * Closes an order, so that it can no longer be paid. Closing it again has no effect.
   *
   * @param expectedVersion version on which the decision is based; an order with another version stays pending
   * @returns the order after the call
   * @throws BusinessError `404` `payment.order-unknown`, `409` `payment.order-not-pending` with `data.status`
   */
  close(outTradeNo: string, expectedVersion?: number): Promise<PaymentOrder>
  /**
   * Records the transaction that the payer specifies. It does not settle the order.
   *
   * @param transactionHash as in `Settlement`; the hash of a transaction on a chain is stored in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   * `payment.order-not-pending`
   */
  attachTransaction(outTradeNo: string, transactionHash: string): Promise<PaymentOrder>
  /**
   * Stores the address that must send the payment of a pending order. The caller has checked the proof. The payer of an
   * order never changes.
   *
   * @param payer address in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   * `payment.order-not-pending`, `409` `payment.payer-differs` if the order has another payer
   */
  provePayer(outTradeNo: string, payer: string, proof: PayerProof): Promise<PaymentOrder>
  /**
   * Settles an order in one transaction: the order becomes `success`, its transaction is written, the handler of its
   * scene runs and `money.payment.succeeded` is published. Among concurrent callers on all instances, one settles the
   * order. Each chain event is used once. The caller must check that the payment was made.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, and the errors of the handler; nothing is written then
   */
  settle(settlement: Settlement): Promise<SettlementOutcome>
  /**
   * Records a full or partial refund. The caller moves the money. When everything is refunded, the order becomes
   * `refunded`.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409` `payment.order-not-paid`
   * with `data.status`, `409` `payment.refund-exceeds-paid` with `data.refundable`, `409` `payment.refund-differs` if
   * the number has another amount; and the errors of the handler
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

/** An order was settled. Published in the transaction of the settlement, with the key `payment:{outTradeNo}`. */
export const paymentSucceeded = event(
  'money.payment.succeeded',
  Type.Object({ ...about, amount, paidAt: Type.Integer({ minimum: 0 }) }),
)

/** `amount` was refunded, in total `refundedAmount`. Published in the same way as `paymentSucceeded`. */
export const paymentRefunded = event(
  'money.payment.refunded',
  Type.Object({ ...about, refundNo: Type.String({ minLength: 1, maxLength: 128 }), amount, refundedAmount: amount }),
)
