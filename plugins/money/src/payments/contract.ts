import type { FoundPage, PageWindow, Selected } from '@plinth/database'
import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { extensionPoint, service, shape } from '@plinth/kernel'
import type { orders, transactions } from './entities.ts'

/**
 * `success` means paid (decision A7). A `pending` order becomes `success` or `closed`. A `success` order can become
 * `refunded`.
 */
export const paymentStatuses = ['pending', 'success', 'refunded', 'closed'] as const
export type PaymentStatus = (typeof paymentStatuses)[number]

/**
 * Amount and purpose of an order. They never change: a second call with the same number and other terms is rejected.
 */
export interface PaymentTerms {
  /** Order number: 1 to 64 visible ASCII characters, unique in the product. */
  readonly outTradeNo: string
  /** Payment provider, such as `web3`: 1 to 32 lower-case letters, digits and hyphens. */
  readonly provider: string
  /** Name of the handler that completes the paid order, such as `recharge`; 1 to 64 characters. */
  readonly scene: string
  readonly userId?: number
  /** Currency or ledger asset of `amount`: 1 to 64 lower-case letters, digits and `: . -`. */
  readonly asset: string
  /** Value of the order in minor units of the asset, 1 to 2^53 - 1. The same for every way to pay. */
  readonly amount: number
  /** For a payment on a chain: the name of the chain, 1 to 64 characters. */
  readonly chainName?: string
  readonly chainId?: number
  /** Token address in lower case. Absent: the order is paid in the native coin of the chain. */
  readonly tokenContract?: string
  /** Address of the receiver in lower case. */
  readonly receiver?: string
  /** Token units as decimal text, below 2^256 and without leading zeros. */
  readonly amountRaw?: string
  /** 1 or more. Default: the number that the chain requires when the payment is checked. */
  readonly requiredConfirmations?: number
}

/** How the payer was proven: an address that belongs to the buyer's account, or a signature over the order number. */
export const payerProofs = ['account', 'signature'] as const
export type PayerProof = (typeof payerProofs)[number]

/** A payment order (decision A7). Missing terms are null. */
export type PaymentOrder = Selected<typeof orders>

/** A payment or refund of an order. A row never changes. */
export type PaymentTransaction = Selected<typeof transactions>

/** Completes a paid order, for example by crediting points. Contributed under the name of the scene. */
export interface PaymentSuccessHandler {
  /**
   * Called inside the transaction that settles the order, whose status is already `success`. It may only use the
   * database. It may be called again after a conflict, so it must have its effect once per order number. An error rolls
   * back the settlement.
   */
  paid(order: PaymentOrder): Promise<void>
  /** Called like `paid`, for a full or partial refund. Default: only the order records the refund. */
  refunded?(order: PaymentOrder, refund: PaymentRefund): Promise<void>
  /**
   * True if the plugin of the handler records refunds itself. Operators then cannot record them here, because that
   * plugin would not know.
   */
  readonly refundsItself?: boolean
}

/**
 * Extension point for handlers, by scene. An order whose scene has no handler is not settled, because the payer would
 * receive nothing.
 */
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
  /** Kind of the transaction, such as `web3-settlement`; 1 to 32 characters, not `refund`. */
  readonly type: string
  /** Number of the transaction at the provider, or its hash in lower case; 1 to 128 visible ASCII characters. */
  readonly transactionHash: string
  /** `chainName:transactionHash:logIndex`, 1 to 255 characters. Each value can settle one order only. */
  readonly eventKey?: string
  /**
   * With the hash and `logOrdinal` a second unique key of the chain event. A reorganisation can change the log index,
   * but not this key.
   */
  readonly chainName?: string
  /** Position of the event in its transaction, starting at 0. */
  readonly logOrdinal?: number
  /** Facts for a later review: at most 16,384 characters of JSON, without secrets. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Version of the order that the decision is based on. If the order has another version, it is not settled. */
  readonly expectedVersion?: number
}

/** Reasons why an order was not settled. `handler-missing`: no handler exists for the scene of the order. */
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
  /** Number of the refund, 1 to 128 visible ASCII characters. Each number is recorded once. */
  readonly refundNo: string
  /** Minor units of the order's asset, 1 or more. */
  readonly amount: number
  /** Reason shown to operators; at most 200 characters. */
  readonly reason?: string
}

export interface Refunded {
  readonly order: PaymentOrder
  /** True if an earlier call recorded this refund. This call then changed nothing. */
  readonly replayed: boolean
}

export interface PaymentFilter {
  readonly status?: PaymentStatus
  readonly provider?: string
  readonly userId?: number
  /** Condition for the rows that the caller may read: `callerRows(request, orderOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface TransactionFilter {
  readonly outTradeNo?: string
  readonly type?: string
  /**
   * Condition for the rows that the caller may read: `callerRows(request, throughOrder('out_trade_no'))`. Default: all
   * rows.
   */
  readonly rows?: object
}

/** For `callerRows`: the column with the user of a payment order. */
export const orderOwner = 'user_id'

/**
 * For `callerRows`: finds the user of the order that a row refers to.
 *
 * @param column database column that contains the `outTradeNo`
 */
export const throughOrder = (column: string) => ({
  column,
  through: 'money_payment_order',
  key: 'out_trade_no',
  owner: orderOwner,
})

/** Selects transactions by order, or by hash on a chain. At most 200 values per call. */
export type TransactionsAsked =
  | { readonly outTradeNos: readonly string[] }
  | { readonly chainName: string; readonly transactionHashes: readonly string[] }

/** Selects the pending orders of a chain that claim certain transfers. At most 200 hashes and 200 payers. */
export interface ClaimsAsked {
  readonly chainName: string
  /** Transaction hashes in lower case. */
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

/** A group of pending orders that claim the same transfer in the same way. */
export interface PaymentClaim {
  /** Transaction that the orders specify; null if the group was found by payer. */
  readonly transactionHash: string | null
  /**
   * Proven payer of the orders; null if the group was found by transaction. Such a group also contains orders without a
   * payer.
   */
  readonly payer: string | null
  readonly tokenContract: string | null
  readonly receiver: string | null
  readonly amountRaw: string | null
  /** The newest orders first, at most `maxClaimOrders`. */
  readonly newest: readonly ClaimOrder[]
  /** Number of all orders, including those left out of `newest`. */
  readonly total: number
}

/** Selects a part of the paid orders of a provider. `limit` is 1 to 200. */
export type PaidWalk =
  /** Orders with an id above `afterId`, ordered by id. */
  | { readonly afterId: number; readonly limit: number }
  /**
   * Orders paid after `paidAfter`, at the latest at `paidUntil`, and before the payment `before`; latest payment first.
   * Times are in milliseconds.
   */
  | {
      readonly paidAfter: number
      readonly paidUntil: number
      readonly before?: { readonly paidAt: number; readonly id: number } | undefined
      readonly limit: number
    }

/**
 * Payment orders and their payments. An order changes `pending -> success -> refunded` or `pending -> closed`, and
 * never back. Each change is one conditional update. Every method joins the transaction of its caller.
 */
export interface Payments {
  /**
   * Creates an order. A repeated call with the same terms returns the existing order.
   *
   * @throws BusinessError `400` `payment.terms-invalid` with field and rule; `400` `payment.scene-unknown` if the scene
   *   has no handler; `409` `payment.terms-differ` if an order with this number has other terms
   */
  create(terms: PaymentTerms): Promise<PaymentOrder>
  /** @param rows rows that the caller may read, see `PaymentFilter.rows`; other orders are not found */
  find(outTradeNo: string, rows?: object): Promise<PaymentOrder | undefined>
  /**
   * Returns the orders that exist, by order number.
   *
   * @throws RangeError for more than 200 numbers
   */
  findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>>
  /**
   * Returns the paid orders of a provider with an id above `afterId`, ordered by id.
   *
   * @param afterId id of the last order of the previous part; 0 for the first part
   * @param limit 1 to 200; a result with fewer orders is the last part
   * @throws RangeError for another limit
   */
  paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]>
  /**
   * Returns several parts of the paid orders of a provider in one statement.
   *
   * @returns a list for each walk, in the order of the walks
   * @throws RangeError for another limit
   */
  paidWalks(provider: string, walks: readonly PaidWalk[]): Promise<readonly (readonly PaymentOrder[])[]>
  /**
   * Returns the claims of pending orders on transfers of a chain. An order claims a transfer if it specifies its
   * transaction, or if its proven payer sent the transfer.
   *
   * @throws RangeError for more than 200 hashes or payers
   */
  pendingClaims(requested: ClaimsAsked): Promise<readonly PaymentClaim[]>
  /**
   * Like `find`, but the order must exist.
   *
   * @throws BusinessError `404` `payment.order-unknown`
   */
  get(outTradeNo: string, rows?: object): Promise<PaymentOrder>
  list(filter: PaymentFilter, window: PageWindow): Promise<FoundPage<PaymentOrder>>
  transactions(filter: TransactionFilter, window: PageWindow): Promise<FoundPage<PaymentTransaction>>
  /**
   * Returns the payments of many orders, or of many transactions of a chain, oldest first.
   *
   * @throws RangeError for more than 200 orders or transactions
   */
  transactionsOf(requested: TransactionsAsked): Promise<readonly PaymentTransaction[]>
  /**
   * Closes an order, so that it can no longer be paid. Closing a closed order has no effect.
   *
   * @param expectedVersion version that the decision is based on; an order with another version stays pending
   * @returns the order after the call
   * @throws BusinessError `404` `payment.order-unknown`, `409` `payment.order-not-pending` with `data.status`
   */
  close(outTradeNo: string, expectedVersion?: number): Promise<PaymentOrder>
  /**
   * Records the transaction that the payer specifies. This does not settle the order.
   *
   * @param transactionHash as in `Settlement`; a hash on a chain is stored in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   *   `payment.order-not-pending`
   */
  attachTransaction(outTradeNo: string, transactionHash: string): Promise<PaymentOrder>
  /**
   * Stores the address that must send the payment. The caller must have checked the proof. The payer of an order never
   * changes.
   *
   * @param payer address in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   *   `payment.order-not-pending`, `409` `payment.payer-differs` if the order has another payer
   */
  provePayer(outTradeNo: string, payer: string, proof: PayerProof): Promise<PaymentOrder>
  /**
   * Settles an order in one transaction: sets the status `success`, writes the payment, calls the handler of the scene
   * and publishes `money.payment.succeeded`. Of several concurrent calls on all instances, one settles the order. A
   * chain event settles one order only. The caller must have verified the payment.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, and the errors of the handler. Nothing is written then.
   */
  settle(settlement: Settlement): Promise<SettlementOutcome>
  /**
   * Records a full or partial refund. The caller returns the money. After a full refund the order is `refunded`.
   *
   * @throws BusinessError `400` `payment.terms-invalid`; `404` `payment.order-unknown`; `409` `payment.order-not-paid`
   *   with `data.status`; `409` `payment.refund-exceeds-paid` with `data.refundable`; `409` `payment.refund-differs` if
   *   the refund number was recorded with another amount; and the errors of the handler
   */
  refund(refund: PaymentRefund): Promise<Refunded>
}

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

/** Event: an order was settled. Published in the transaction of the settlement, with the key `payment:{outTradeNo}`. */
export const paymentSucceeded = event(
  'money.payment.succeeded',
  Type.Object({ ...about, amount, paidAt: Type.Integer({ minimum: 0 }) }),
)

/**
 * Event: `amount` was refunded; all refunds together are `refundedAmount`. Published in the transaction of the refund,
 * with the key `payment:{outTradeNo}`.
 */
export const paymentRefunded = event(
  'money.payment.refunded',
  Type.Object({ ...about, refundNo: Type.String({ minLength: 1, maxLength: 128 }), amount, refundedAmount: amount }),
)
