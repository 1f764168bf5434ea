import { event } from '@plinth/events'
import { Type } from '@plinth/http'

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
