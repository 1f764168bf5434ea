import type { FoundPage, PageWindow, Selected } from '@plinth/database'
import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { extensionPoint, type LocalizedText, service, shape, bilingual as text } from '@plinth/kernel'
import type { Recovery } from '../contract.ts'
import type { orders, transactions } from './entities.ts'

/** `success` means paid. `pending` becomes `success` or `closed`; `success` can become `refunded`. */
export const paymentStatuses = ['pending', 'success', 'refunded', 'closed'] as const
export type PaymentStatus = (typeof paymentStatuses)[number]

/** Names of the states of payment orders, for pages. */
export const paymentStatusNames: Readonly<Record<PaymentStatus, LocalizedText>> = {
  pending: text('Awaiting payment', '待支付'),
  success: text('Paid', '已支付'),
  refunded: text('Refunded', '已退款'),
  closed: text('Closed', '已关闭'),
}

/** Tones of the states of payment orders, for pages. */
export const paymentStatusTones = { pending: 'info', success: 'good', refunded: 'warn', closed: 'quiet' } as const

/**
 * Terms of a payment order. They never change: a second call with the same order number and other terms is rejected.
 */
export interface PaymentTerms {
  /** Order number: 1 to 64 visible ASCII characters, unique in the product. */
  readonly outTradeNo: string
  /** Code of the payment provider, such as `web3`: 1 to 32 lower-case letters, digits and hyphens. */
  readonly provider: string
  /** Name of the handler of paid orders, such as `recharge`; 1 to 64 characters. */
  readonly scene: string
  readonly userId?: number
  /** Currency or ledger asset of `amount`: 1 to 64 lower-case letters, digits and `: . -`. */
  readonly asset: string
  /** Minor units, 1 to 2^53 - 1. The same for every way to pay. */
  readonly amount: number
  /** Name of the chain, for a payment on a chain; 1 to 64 characters. */
  readonly chainName?: string
  readonly chainId?: number
  /** Address in lower case. Default: the native coin of the chain. */
  readonly tokenContract?: string
  /** Address in lower case. */
  readonly receiver?: string
  /** Token units as decimal text, below 2^256 and without leading zeros. */
  readonly amountRaw?: string
  /** Number of confirmations. Default: the number that the chain requires when the payment is checked. */
  readonly requiredConfirmations?: number
}

/**
 * How the payer was proven. `account`: the address belongs to the buyer's account. `signature`: the key of the address
 * signed the order number.
 */
export const payerProofs = ['account', 'signature'] as const
export type PayerProof = (typeof payerProofs)[number]

/** A payment order. Terms that were not specified are null. */
export type PaymentOrder = Selected<typeof orders>

/** A payment or a refund of an order. It never changes. */
export type PaymentTransaction = Selected<typeof transactions>

/**
 * Completes a paid order, for example by crediting points. A plugin contributes it under the `scene` of these orders,
 * such as `recharge`.
 */
export interface PaymentSuccessHandler {
  /** Name of the scene on the pages of operators. Default: the scene itself. */
  readonly title?: LocalizedText
  /**
   * Called inside the transaction that settles the order, after the status changed to `success`. It may only use the
   * database. After a conflict it may be called again, so it must take effect once per order number. An error rolls
   * back the settlement.
   */
  paid(order: PaymentOrder): Promise<void>
  /** Called like `paid`, but for a full or partial refund. Default: the refund is only recorded in the order. */
  refunded?(order: PaymentOrder, refund: PaymentRefund): Promise<RefundEffect> | Promise<void>
  /**
   * Returns the minor units that the user would owe after a refund of this amount, because they are already spent. For a
   * preview; changes nothing. Default: 0.
   */
  owedAfter?(order: PaymentOrder, amount: number): Promise<number>
  /** True if the plugin of the handler records refunds itself. Operators then cannot record them. */
  readonly refundsItself?: boolean
}

export interface RefundEffect {
  /** Minor units that the user owes, because they were already spent. */
  readonly owed: number
}

/**
 * Handlers by the `scene` of orders. An order without a handler is not settled, because the payer would receive
 * nothing.
 */
export const paymentSuccess = extensionPoint<PaymentSuccessHandler>('money.payment-success', {
  from: '@plinth/money/payments',
  live: true,
  names: shape.coded,
  shape: shape.object<PaymentSuccessHandler>(
    { paid: shape.function },
    { title: shape.localized, refunded: shape.function, owedAfter: shape.function, refundsItself: shape.flag },
  ),
})

/** A transaction at the provider or on the chain that pays an order. */
export interface Settlement {
  readonly outTradeNo: string
  /** Kind of the settlement, such as `web3-settlement`; 1 to 32 characters, not `refund`. */
  readonly type: string
  /**
   * Number of the transaction at the provider, or its hash on the chain in lower case; 1 to 128 visible ASCII
   * characters.
   */
  readonly transactionHash: string
  /** `chainName:transactionHash:logIndex`, 1 to 255 characters. Each value settles one order. */
  readonly eventKey?: string
  /**
   * Name of the chain. Together with `transactionHash` and `logOrdinal`, it is a second unique key. This key stays the
   * same if a reorganisation changes the log index.
   */
  readonly chainName?: string
  /** Position of the event in its transaction, from 0. */
  readonly logOrdinal?: number
  /** Facts about the payment for a later review: at most 16,384 characters of JSON, without secrets. */
  readonly facts?: Readonly<Record<string, unknown>>
  /** Version that the order must have. An order with another version is not settled. */
  readonly expectedVersion?: number
}

/** Why an order was not settled. `handler-missing`: no handler exists for the `scene` of the order. */
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
  /** 1 to 128 visible ASCII characters. Each number of a provider is recorded once, for one order. */
  readonly refundNo: string
  /** Minor units of the order's asset, 1 or more. */
  readonly amount: number
  /** Reason shown to operators; at most 200 characters. */
  readonly reason?: string
  /** Whether later credits pay what the user owes, see `Ledger.takeBack`. Default: `none`. */
  readonly recovery?: Recovery
  /**
   * Transfers on a chain that may be this refund, the best match first. The first one that is unused is recorded. They
   * are required if the provider of the order is a chain and `refundNo` is a hash; `Payments.checkRefund` finds them.
   */
  readonly transfers?: readonly RefundTransfer[]
}

/** A transfer that returned money on a chain. */
export interface RefundTransfer {
  readonly chainName: string
  /** Position of the transfer in its transaction, from 0. */
  readonly logOrdinal: number
  /** Facts for a later review, as in `Settlement`. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** A refund that was made outside of the product and is not recorded yet. */
export interface RefundRequest extends Omit<PaymentRefund, 'amount' | 'transfers'> {
  /** Default: the amount that is not refunded yet. */
  readonly amount?: number | undefined
  /** Address that received the money on a chain. Default: the address that paid. */
  readonly receiver?: string | undefined
}

/** A transfer on a chain that settles no order. */
export interface UnmatchedPayment {
  /** Order that the payer or an operator named. */
  readonly outTradeNo: string
  readonly chainName: string
  /** In lower case. */
  readonly transactionHash: string
  /** `chainName:transactionHash:logIndex`, as in `Settlement`. */
  readonly eventKey: string
  /** Position of the transfer in its transaction, from 0. */
  readonly logOrdinal: number
  /** Minor units of the order's asset; 0 if the token has no price in this asset. */
  readonly amount: number
  /** Facts for a later review, as in `Settlement`. */
  readonly facts: TransferFacts & Readonly<Record<string, unknown>>
}

/** Sender, token and amount of a transfer. Addresses are in lower case, the amount is decimal text. */
export interface TransferFacts {
  readonly from: string
  readonly token: string
  readonly value: string
}

/** A repayment of an unmatched payment that was found on the chain. */
export interface UnmatchedRepayment {
  readonly payment: UnmatchedPayment
  /** Hash of the transaction that returned the money, in lower case. */
  readonly repaymentHash: string
  /** Transfers that may be this repayment. The first one that is unused is recorded. */
  readonly transfers: readonly RefundTransfer[]
}

/** Transfer to find on a chain. */
export interface RefundQuery {
  readonly order: PaymentOrder
  /** Payments and refunds of the order. */
  readonly transactions: readonly PaymentTransaction[]
  /** In lower case. */
  readonly transactionHash: string
  /** Minor units of the order's asset. */
  readonly amount: number
  readonly receiver?: string | undefined
  /** Payment that settles no order and was returned as a whole. Default: the payment of the order. */
  readonly unmatched?: TransferFacts | undefined
}

/**
 * Why a refund was not found. `receiver-needed`: the receiver is invalid, unknown or the shop itself. `unconfirmed`: the
 * transaction is not final yet. `not-verifiable`: the chain could not be queried, or the order lacks terms.
 */
export const refundProblems = ['receiver-needed', 'transfer-missing', 'unconfirmed', 'not-verifiable'] as const

export type RefundSearch =
  /** Transfers of this amount to this receiver, the best match first; at least one. */
  | { readonly outcome: 'found'; readonly transfers: readonly RefundTransfer[] }
  /** `data` is added to the error. */
  | {
      readonly outcome: (typeof refundProblems)[number]
      readonly data: Readonly<Record<string, string | number | null>>
    }

/** Finds refunds on a chain. A plugin contributes it under the provider of the orders, such as `web3`. */
export interface RefundVerifier {
  /** Queries the chain. Must not be called inside a database transaction. */
  find(query: RefundQuery): Promise<RefundSearch>
}

/** Verifiers by the `provider` of orders. */
export const refundVerifier = extensionPoint<RefundVerifier>('money.refund-verifier', {
  from: '@plinth/money/payments',
  live: true,
  names: shape.coded,
  shape: shape.object<RefundVerifier>({ find: shape.function }),
})

export interface RefundResult extends RefundEffect {
  readonly order: PaymentOrder
  /** True if an earlier call recorded this refund. */
  readonly replayed: boolean
}

export interface PaymentFilter {
  readonly status?: PaymentStatus
  readonly provider?: string
  readonly userId?: number
  /** Condition from `callerRows(request, orderOwnerColumn)`. Default: all rows. */
  readonly rows?: object
}

export interface TransactionFilter {
  readonly outTradeNo?: string
  readonly type?: string
  /** True for refunds of earlier versions that share their transaction with another refund or a payment. */
  readonly shared?: boolean
  /** Condition from `callerRows(request, ownerThroughOrder('out_trade_no'))`. Default: all rows. */
  readonly rows?: object
}

/** Column with the user of an order, for `callerRows`. */
export const orderOwnerColumn = 'user_id'

/**
 * Columns that `callerRows` uses to find the user of the order to which a row refers.
 *
 * @param column database column with the `outTradeNo`
 */
export const ownerThroughOrder = (column: string) => ({
  column,
  through: 'money_payment_order',
  key: 'out_trade_no',
  owner: orderOwnerColumn,
})

/** Selects transactions by order number, or by hash on a chain; at most 200 values per call. */
export type TransactionQuery =
  | { readonly outTradeNos: readonly string[] }
  | { readonly chainName: string; readonly transactionHashes: readonly string[] }

/** Transactions and payers whose claims are requested: at most 200 hashes and 200 payers. */
export interface ClaimQuery {
  readonly chainName: string
  /** Hashes in lower case. */
  readonly transactionHashes: readonly string[]
  /** Addresses in lower case. */
  readonly payers: readonly string[]
  /** Users whose orders claim transfers from their own wallets. Default: none. */
  readonly userIds?: readonly number[]
  /**
   * Returns only orders with one of these values for each term: at most 200 values each, addresses in lower case.
   * Default: all orders.
   */
  readonly terms?: {
    readonly tokenContracts: readonly string[]
    readonly receivers: readonly string[]
    /** Default: all amounts. */
    readonly amountsRaw?: readonly string[] | undefined
  }
}

export const maxClaimOrders = 1_000

export interface ClaimOrder {
  readonly id: number
  readonly outTradeNo: string
  readonly userId: number | null
  /** Proven payer of the order; null if any address may pay. */
  readonly payer: string | null
}

/**
 * A group of pending orders with equal terms that claim the same transfer: they specify the same transaction, expect it
 * from the same proven payer, or belong to the same user.
 */
export interface PaymentClaim {
  /** Null if the orders specify no transaction. */
  readonly transactionHash: string | null
  /** Null unless the group was found by payer. Other groups may contain orders with any payer or none. */
  readonly payer: string | null
  /** Null unless the group was found by user. */
  readonly userId: number | null
  readonly tokenContract: string | null
  readonly receiver: string | null
  readonly amountRaw: string | null
  /** Newest orders of the group, the newest first, at most `maxClaimOrders`. */
  readonly newest: readonly ClaimOrder[]
  /** Number of orders, including those that `newest` leaves out. */
  readonly total: number
}

/** Selects a part of the paid orders of a provider. `limit` is the maximum number of orders, 1 to 200. */
export type PaidOrdersQuery =
  /** Orders with an id above `afterId`, ordered by id. */
  | { readonly afterId: number; readonly limit: number }
  /**
   * Orders paid after `paidAfter`, not after `paidUntil`, and before the payment `before`; latest payment first. All
   * times are in milliseconds since the epoch.
   */
  | {
      readonly paidAfter: number
      readonly paidUntil: number
      readonly before?: { readonly paidAt: number; readonly id: number } | undefined
      readonly limit: number
    }

/**
 * Payment orders and their payments. An order changes `pending -> success -> refunded` or `pending -> closed`, and
 * never back, by one conditional update. Every method joins the transaction of its caller.
 */
export interface Payments {
  /**
   * A repeated call with the same terms returns the existing order.
   *
   * @throws BusinessError `400` `payment.terms-invalid` with field and rule; `400` `payment.scene-unknown` if the scene
   *   has no handler; `409` `payment.terms-differ`
   */
  create(terms: PaymentTerms): Promise<PaymentOrder>
  /**
   * Finds an order. @param rows condition as in `PaymentFilter.rows`; an order that it excludes is treated as unknown
   */
  find(outTradeNo: string, rows?: object): Promise<PaymentOrder | undefined>
  /**
   * Returns the existing orders by number.
   *
   * @throws RangeError for more than 200 numbers
   */
  findMany(outTradeNos: readonly string[]): Promise<ReadonlyMap<string, PaymentOrder>>
  /**
   * Returns paid orders of a provider with an id above `afterId`, ordered by id.
   *
   * @param afterId 0 for the first part
   * @param limit 1 to 200; a shorter result is the last part
   * @throws RangeError if the limit is not 1 to 200
   */
  paidAfter(provider: string, afterId: number, limit: number): Promise<readonly PaymentOrder[]>
  /**
   * Reads several parts of the paid orders of a provider in one statement.
   *
   * @returns a list for each walk
   * @throws RangeError if a limit is not 1 to 200
   */
  paidWalks(provider: string, walks: readonly PaidOrdersQuery[]): Promise<readonly (readonly PaymentOrder[])[]>
  /**
   * Returns claims of pending orders on transfers. An order claims a transfer if it specifies the transaction, or if
   * its proven payer or its user sent the transfer.
   *
   * @throws RangeError for more than 200 values
   */
  pendingClaims(requested: ClaimQuery): Promise<readonly PaymentClaim[]>
  /**
   * Like `find`, but the order must exist.
   *
   * @throws BusinessError `404` `payment.order-unknown`
   */
  get(outTradeNo: string, rows?: object): Promise<PaymentOrder>
  list(filter: PaymentFilter, window: PageWindow): Promise<FoundPage<PaymentOrder>>
  transactions(filter: TransactionFilter, window: PageWindow): Promise<FoundPage<PaymentTransaction>>
  /**
   * Returns payments, oldest first.
   *
   * @throws RangeError for more than 200 orders or transactions
   */
  transactionsOf(requested: TransactionQuery): Promise<readonly PaymentTransaction[]>
  /**
   * Closes an order, so that it can no longer be paid. Has no effect on a closed order.
   *
   * @param expectedVersion an order with another version stays pending
   * @returns the order after the call
   * @throws BusinessError `404` `payment.order-unknown`, `409` `payment.order-not-pending` with `data.status`
   */
  close(outTradeNo: string, expectedVersion?: number): Promise<PaymentOrder>
  /**
   * Records the transaction that the payer specifies. This does not settle the order.
   *
   * @param transactionHash as in `Settlement`; stored in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   *   `payment.order-not-pending`
   */
  attachTransaction(outTradeNo: string, transactionHash: string): Promise<PaymentOrder>
  /**
   * Stores the address that must send the payment. The caller must have checked the proof. The payer never changes.
   *
   * @param payer address in lower case
   * @throws BusinessError `400` `payment.terms-invalid`, `404` `payment.order-unknown`, `409`
   *   `payment.order-not-pending`, `409` `payment.payer-differs`
   */
  provePayer(outTradeNo: string, payer: string, proof: PayerProof): Promise<PaymentOrder>
  /**
   * Settles an order in one transaction: sets `success`, writes the payment, calls the handler of its scene (what is
   * paid for) and publishes `money.payment.succeeded`. Of several concurrent calls on all instances, one succeeds. A
   * chain event settles one order only. The caller must have verified the payment.
   *
   * @throws BusinessError `400` `payment.terms-invalid`, and the errors of the handler. Nothing is written then.
   */
  settle(settlement: Settlement): Promise<SettlementOutcome>
  /**
   * Completes and checks a refund before `refund` records it. On a chain, finds the transfers that may be the refund.
   * A refund that is already recorded is not searched again. Must not be called inside a database transaction.
   *
   * @throws BusinessError `404` `payment.order-unknown`; `409` `payment.order-not-paid` if nothing is left to refund. On
   *   a chain also: `400` `payment.refund-hash-needed`, `400` `payment.refund-receiver-needed`, `409`
   *   `payment.refund-is-payment`, `409` `payment.refund-transfer-missing`, `409` `payment.refund-unconfirmed` and `503`
   *   `payment.refund-not-verifiable`
   */
  checkRefund(request: RefundRequest): Promise<PaymentRefund>
  /**
   * Records a full or partial refund. The caller returns the money. Each refund number of a provider, and on a chain
   * each transfer, is recorded once in the product, and a payment is never recorded as a refund. The same refund of the
   * same order is not recorded again.
   *
   * @throws BusinessError `400` `payment.terms-invalid`; `404` `payment.order-unknown`; `409` `payment.order-not-paid`
   *   with `data.status`; `409` `payment.refund-exceeds-paid` with `data.refundable`; `409` `payment.refund-differs` if
   *   the number has another amount; `409` `payment.refund-already-used`; `409` `payment.refund-is-payment`; `503`
   *   `payment.refund-not-verifiable` if a hash has no transfers; and the errors of the handler
   */
  refund(refund: PaymentRefund): Promise<RefundResult>
  /**
   * Credits a payment that settles no order to the account of the order's user. The order does not change, and its
   * handler is not called. The transfer is used then: it cannot settle an order, and no other call can use it. The key
   * of the posting is `unmatched:{eventKey}`.
   *
   * @returns the minor units that the user can spend afterwards
   * @throws BusinessError `404` `payment.order-unknown`; `409` `payment.unmatched-without-account` if the order has no
   *   user or its asset no accounts; `409` `payment.unmatched-already-used`; and the errors of `Ledger.credit`
   */
  creditUnmatched(payment: UnmatchedPayment, reason: string): Promise<{ readonly available: number }>
  /**
   * Finds the transfer that returned a payment that settles no order. Must not be called inside a database transaction.
   *
   * @throws BusinessError the errors of `checkRefund` on a chain
   */
  checkUnmatchedRepayment(
    payment: UnmatchedPayment,
    request: { readonly transactionHash: string; readonly receiver?: string | undefined },
  ): Promise<UnmatchedRepayment>
  /**
   * Records that a payment that settles no order was returned. Both transfers are used then, as by `creditUnmatched` and
   * `refund`. The order does not change.
   *
   * @throws BusinessError `404` `payment.order-unknown`; `409` `payment.unmatched-already-used`; `409`
   *   `payment.refund-already-used`; `409` `payment.refund-is-payment`
   */
  repayUnmatched(repayment: UnmatchedRepayment): Promise<void>
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

/**
 * Event: an order specifies a transaction that may pay it, or another one than before. This proves nothing. Published in
 * the same transaction, with the key `payment-named:{outTradeNo}`.
 */
export const paymentNamed = event(
  'money.payment.transaction-named',
  Type.Object({ ...about, transactionHash: Type.String({ minLength: 1, maxLength: 128 }) }),
)

/** Event: an order was settled. Published in the same transaction, with the key `payment:{outTradeNo}`. */
export const paymentSucceeded = event(
  'money.payment.succeeded',
  Type.Object({ ...about, amount, paidAt: Type.Integer({ minimum: 0 }) }),
)

/**
 * Event: `amount` was refunded, in total `refundedAmount`. Published in the same transaction, with the key
 * `payment:{outTradeNo}`.
 */
export const paymentRefunded = event(
  'money.payment.refunded',
  Type.Object({ ...about, refundNo: Type.String({ minLength: 1, maxLength: 128 }), amount, refundedAmount: amount }),
)
