import { event } from '@plinth/events'
import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { AttemptReason, CandidateState } from './planning/reasons.ts'

const orderNumber = Type.String({ minLength: 1, maxLength: 64 })
const payment = {
  outTradeNo: orderNumber,
  chainName: Type.Union([Type.String(), Type.Null()]),
  transactionHash: Type.Union([Type.String(), Type.Null()]),
  explorerUrl: Type.Union([Type.String(), Type.Null()]),
}

/** Event: an order was paid on a chain. Published in the same transaction, with the key `order:{outTradeNo}`. */
export const settlementSucceeded = event(
  'web3-settlement.settled',
  Type.Object({
    ...payment,
    eventKey: Type.String(),
    reviewLogId: Type.Integer(),
    userId: Type.Optional(Type.Integer({ minimum: 1, description: 'Buyer of the order.' })),
  }),
)

/** Event: an automatic settlement was not executed. Published in the transaction that logs the attempt. */
export const settlementNotExecuted = event(
  'web3-settlement.not-executed',
  Type.Object({
    ...payment,
    outcome: Type.Enum(['skipped', 'failed']),
    reasons: Type.Array(Type.String()),
    callbackLogId: Type.Integer(),
  }),
)

/** Event: an audit found a risk. Published in the transaction that writes the log. */
export const settlementAtRisk = event(
  'web3-settlement.at-risk',
  Type.Object({
    ...payment,
    riskLevel: Type.Enum(['low', 'medium', 'high']),
    riskReasons: Type.Array(Type.String()),
    chainReorgSuspected: Type.Boolean(),
    auditLogId: Type.Integer(),
  }),
)

export interface PayerClaim {
  /** Address of the payer. Mixed case requires a valid checksum. */
  readonly address: string
  /**
   * `personal_sign` signature of the text that `payerMessage` returns. Not needed if the address belongs to the buyer's
   * account.
   */
  readonly signature?: string | undefined
}

export interface SettlementView {
  readonly state: CandidateState
  /** Blocking reasons in the order of document 3 of the specification, then causes. */
  readonly reasons: readonly AttemptReason[]
}

/** Service for plugins that create orders with payment on a chain. */
export interface OrderSettlements {
  /**
   * Returns the text that the payer signs. It contains order, chain and receiver, so that its signature cannot be used
   * for another payment.
   *
   * @throws BusinessError "404" `payment.order-unknown`
   */
  payerMessage(outTradeNo: string): Promise<string>
  /**
   * Checks the proof and stores the payer of a pending order. The address must belong to the account of the order's
   * user, or its key must have signed the text. A transfer from another address then needs the decision of an operator.
   *
   * @throws BusinessError "400" `web3-settlement.payer-invalid`, "403" `web3-settlement.payer-not-proven`, and the
   * errors of `Payments.provePayer`
   */
  provePayer(outTradeNo: string, claim: PayerClaim): Promise<void>
  /**
   * Returns the state of the settlement of an order. Queries the chain and writes nothing. Must not be called inside a
   * database transaction.
   */
  view(outTradeNo: string): Promise<SettlementView>
  /**
   * Returns the orders with a review that can still settle the order.
   *
   * @param outTradeNos at most 200
   */
  underReview(outTradeNos: readonly string[]): Promise<ReadonlySet<string>>
}

export const orderSettlements = service<OrderSettlements>('web3-settlement.orders', { from: '@plinth/web3-settlement' })
