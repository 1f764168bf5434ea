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

/**
 * An order was paid by a transaction on a chain. Published in the database transaction of the settlement, with the key
 * `order:{outTradeNo}`.
 */
export const settlementSucceeded = event(
  'web3-settlement.settled',
  Type.Object({ ...payment, eventKey: Type.String(), reviewLogId: Type.Integer() }),
)

/** An automatic settlement was not executed. Published in the database transaction that logs the attempt. */
export const settlementNotExecuted = event(
  'web3-settlement.not-executed',
  Type.Object({
    ...payment,
    outcome: Type.Enum(['skipped', 'failed']),
    reasons: Type.Array(Type.String()),
    callbackLogId: Type.Integer(),
  }),
)

/** An audit found that the payment of an order is at risk. Published in the transaction that writes the audit log. */
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

/** The address from which a buyer pays, with the proof of ownership. */
export interface PayerClaim {
  /** EVM address; mixed case requires a valid checksum. */
  readonly address: string
  /**
   * `personal_sign` signature of the text that `payerMessage` returns, made with the key of the address. Not needed if
   * the address belongs to the buyer's account.
   */
  readonly signature?: string | undefined
}

/** Whether an order can be settled now, and the reasons against it. */
export interface SettlementView {
  readonly state: CandidateState
  /** First the blocking reasons in their documented order, then the causes. */
  readonly reasons: readonly AttemptReason[]
}

/** Settlement functions for plugins that create orders with payment on a chain. */
export interface OrderSettlements {
  /**
   * Returns the text that a payer signs. It contains order, chain and receiver, so that the signature is not valid
   * elsewhere.
   *
   * @throws BusinessError "404" `payment.order-unknown`
   */
  payerMessage(outTradeNo: string): Promise<string>
  /**
   * Proves the payer of a pending order and stores it with the order (decision F.4). The address must be bound to the
   * account of the order's user, or its key must have signed. A transfer from another address then needs the decision
   * of an operator.
   *
   * @throws BusinessError "400" `web3-settlement.payer-invalid`, "403" `web3-settlement.payer-not-proven`, and the
   * errors of `Payments.provePayer`
   */
  provePayer(outTradeNo: string, claim: PayerClaim): Promise<void>
  /**
   * Queries the chain for the transaction of the order. Writes nothing. Must not be called within a database
   * transaction.
   */
  view(outTradeNo: string): Promise<SettlementView>
  /**
   * Returns the orders with a review that can still settle them.
   *
   * @param outTradeNos at most 200
   */
  underReview(outTradeNos: readonly string[]): Promise<ReadonlySet<string>>
}

export const orderSettlements = service<OrderSettlements>('web3-settlement.orders', { from: '@plinth/web3-settlement' })
