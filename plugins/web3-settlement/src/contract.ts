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

/** An order became paid by a transaction of a chain. Published in the transaction of the settlement, under the key `order:{outTradeNo}`. */
export const settlementSucceeded = event(
  'web3-settlement.settled',
  Type.Object({ ...payment, eventKey: Type.String(), reviewLogId: Type.Integer() }),
)

/** A settlement that was started by itself did not come about. Published together with its log. */
export const settlementNotExecuted = event(
  'web3-settlement.not-executed',
  Type.Object({
    ...payment,
    outcome: Type.Enum(['skipped', 'failed']),
    reasons: Type.Array(Type.String()),
    callbackLogId: Type.Integer(),
  }),
)

/** An audit found that the payment of a paid order is at risk. Published together with its log. */
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

/** An address that somebody says to pay from. */
export interface PayerClaim {
  /** EVM address; mixed case needs the right checksum. */
  readonly address: string
  /** Of the text of `payerMessage`, by the key of the address (`personal_sign`). Not needed for an address of the buyer's account. */
  readonly signature?: string | undefined
}

/** Reasons that keep an order from its settlement now. */
export interface SettlementView {
  readonly state: CandidateState
  /** Blocking reasons in the order of the document, then causes. */
  readonly reasons: readonly AttemptReason[]
}

/** For plugins that create orders which are paid on a chain. */
export interface OrderSettlements {
  /**
   * The text that a payer signs. It names the order, the chain and the receiver, so that the signature proves nothing elsewhere.
   *
   * @throws BusinessError "404" `payment.order-unknown`
   */
  payerMessage(outTradeNo: string): Promise<string>
  /**
   * Proves who pays a pending order, and stores it with the order (decision F.4). The address is bound to the account of the order's
   * user, or its key has signed. From then on a transfer from another address needs a person.
   *
   * @throws BusinessError "400" `web3-settlement.payer-invalid`, "403" `web3-settlement.payer-not-proven`, and as
   *   `Payments.provePayer`
   */
  provePayer(outTradeNo: string, claim: PayerClaim): Promise<void>
  /** Asks the chain about the transaction that the order names. Writes nothing. Never within a transaction of the database. */
  view(outTradeNo: string): Promise<SettlementView>
  /**
   * Reads which of some orders have a review that may still settle them.
   *
   * @param outTradeNos at most 200
   */
  underReview(outTradeNos: readonly string[]): Promise<ReadonlySet<string>>
}

export const orderSettlements = service<OrderSettlements>('web3-settlement.orders', { from: '@plinth/web3-settlement' })
