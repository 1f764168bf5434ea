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
 * Event: a transaction on a chain paid an order. Published in the database transaction of the settlement, with the key
 * `order:{outTradeNo}`.
 */
export const settlementSucceeded = event(
  'web3-settlement.settled',
  Type.Object({ ...payment, eventKey: Type.String(), reviewLogId: Type.Integer() }),
)

/** Event: an automatic settlement was not executed. Published in the database transaction that logs the attempt. */
export const settlementNotExecuted = event(
  'web3-settlement.not-executed',
  Type.Object({
    ...payment,
    outcome: Type.Enum(['skipped', 'failed']),
    reasons: Type.Array(Type.String()),
    callbackLogId: Type.Integer(),
  }),
)

/**
 * Event: an audit found a risk in the payment of an order. Published in the database transaction that writes the audit
 * log.
 */
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

/** The address from which a buyer pays, with the proof that it is the buyer's. */
export interface PayerClaim {
  /** EVM address. In mixed case, its checksum must be valid. */
  readonly address: string
  /**
   * `personal_sign` signature of the text of `payerMessage`, made with the key of the address. Not needed if the
   * address belongs to the buyer's account.
   */
  readonly signature?: string | undefined
}

/** Whether an order can be settled now, and the reasons if not. */
export interface SettlementView {
  readonly state: CandidateState
  /** Blocking reasons in the order of document 3, then causes. */
  readonly reasons: readonly AttemptReason[]
}

/** For plugins that create orders with payment on a chain. */
export interface OrderSettlements {
  /**
   * Returns the text that a payer signs. It contains order, chain and receiver, so that the signature cannot be used
   * elsewhere.
   *
   * @throws BusinessError "404" `payment.order-unknown`
   */
  payerMessage(outTradeNo: string): Promise<string>
  /**
   * Stores the payer of a pending order after checking the proof (decision F.4). The address must belong to the account
   * of the order's user, or its key must have signed. An operator must then decide about a transfer from another
   * address.
   *
   * @throws BusinessError "400" `web3-settlement.payer-invalid`, "403" `web3-settlement.payer-not-proven`, and those of
   *   `Payments.provePayer`
   */
  provePayer(outTradeNo: string, claim: PayerClaim): Promise<void>
  /**
   * Queries the chain for the transaction of the order. Writes nothing. Must not be called inside a database
   * transaction.
   */
  view(outTradeNo: string): Promise<SettlementView>
  /**
   * Returns the orders that have a review from which they can still be settled.
   *
   * @param outTradeNos at most 200
   */
  underReview(outTradeNos: readonly string[]): Promise<ReadonlySet<string>>
}

export const orderSettlements = service<OrderSettlements>('web3-settlement.orders', { from: '@plinth/web3-settlement' })
