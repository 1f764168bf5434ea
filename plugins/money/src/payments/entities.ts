import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable, selectionOf } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { orderOwnerColumn, ownerThroughOrder, type PayerProof, type PaymentStatus } from './contract.ts'

/** A payment order. The entity is only used to read rows. Writes are conditional SQL updates. */
export const PaymentOrderRow = defineEntity({
  name: 'MoneyPaymentOrder',
  tableName: 'money_payment_order',
  uniques: [{ properties: ['outTradeNo'] }],
  indexes: [
    { properties: ['status', 'id'] },
    { properties: ['provider', 'id'] },
    { properties: ['provider', 'status', 'id'] },
    { properties: ['userId', 'id'] },
    { properties: ['userId', 'status', 'id'] },
    { properties: ['transactionHash', 'status'] },
    { properties: ['payer', 'status'] },
    { properties: ['provider', 'status', 'paidAt', 'id'] },
    { properties: ['paidAt', 'asset', 'amount'] },
  ],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    /** SHA-256 of the payment terms. */
    fingerprint: column.text(64),
    provider: column.text(32),
    scene: column.text(64),
    userId: column.id().nullable(),
    asset: column.text(64),
    amount: column.bigint(),
    chainName: column.text(64).nullable(),
    chainId: column.bigint().nullable(),
    tokenContract: column.text(128).nullable(),
    receiver: column.text(128).nullable(),
    amountRaw: column.uint256().nullable(),
    requiredConfirmations: column.integer().nullable(),
    /** Specified by the payer or by the settlement. It does not prove a payment. */
    transactionHash: column.text(128).nullable(),
    /** Proven payer in lower case. Null if any address may pay. */
    payer: column.text(128).nullable(),
    payerProof: column.text(16).$type<PayerProof>().nullable(),
    status: column.text(16).$type<PaymentStatus>(),
    /** Minor units. */
    refundedAmount: column.bigint(),
    /** Increases with every change. */
    version: column.integer(),
    /** Milliseconds since the epoch. */
    createdAt: column.bigint(),
    paidAt: column.bigint().nullable(),
  },
})
export type PaymentOrderRow = InferEntity<typeof PaymentOrderRow>

export const orders = selectionOf(PaymentOrderRow).omit('fingerprint')

/**
 * A payment. Its unique keys prevent that the same transaction, the same chain event, or the same position in a chain
 * transaction pays a second time.
 */
export const PaymentTransactionRow = defineEntity({
  name: 'MoneyPaymentTransaction',
  tableName: 'money_payment_transaction',
  uniques: [
    { properties: ['outTradeNo', 'transactionHash', 'type'] },
    { properties: ['eventKey'] },
    { properties: ['chainName', 'transactionHash', 'logOrdinal'] },
  ],
  indexes: [{ properties: ['outTradeNo', 'id'] }, { properties: ['type', 'id'] }, { properties: ['shared', 'id'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    /** Kind of the transaction: `web3-settlement`, `refund` or another one. */
    type: column.text(32),
    transactionHash: column.text(128),
    amount: column.bigint(),
    eventKey: column.text(255).nullable(),
    chainName: column.text(64).nullable(),
    logOrdinal: column.integer().nullable(),
    facts: column.json<Readonly<Record<string, unknown>>>().nullable(),
    /** True for a refund of an earlier version whose transaction repaid another order as well, or paid one. */
    shared: column.boolean().nullable(),
    createdAt: column.bigint(),
  },
})
export type PaymentTransactionRow = InferEntity<typeof PaymentTransactionRow>

export const transactions = selectionOf(PaymentTransactionRow)

/** A refund that was used. Its unique key prevents that a transfer, or the reference of a provider, is used again. */
export const UsedRefundRow = defineEntity({
  name: 'MoneyUsedRefund',
  tableName: 'money_used_refund',
  uniques: [{ properties: ['provider', 'chainName', 'reference', 'logOrdinal'] }],
  properties: {
    /** Id of the payment transaction that records the refund. */
    id: column.primaryKey(),
    provider: column.text(32),
    /** Empty if the refund was not made on a chain, or if the chain is unknown. */
    chainName: column.text(64),
    /** Hash of the transaction, or number of the refund at the provider. */
    reference: column.text(128),
    /** Position of the transfer in its transaction; -1 for the whole transaction. */
    logOrdinal: column.integer(),
  },
})
export type UsedRefundRow = InferEntity<typeof UsedRefundRow>

export const entities = [PaymentOrderRow, PaymentTransactionRow, UsedRefundRow]

const reason = bilingual(
  'Payment records must be kept. The user id no longer identifies a person.',
  '支付记录依法须保留。用户编号不再指向任何人。',
)

export const paymentTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, PaymentTransactionRow, {
    title: bilingual('Payment transactions', '支付流水'),
    owner: ownerThroughOrder('out_trade_no'),
    erasure: 'kept',
    reason,
  }),
  personalTable(db, PaymentOrderRow, {
    title: bilingual('Payment orders', '支付订单'),
    owner: orderOwnerColumn,
    omit: ['fingerprint'],
    erasure: 'kept',
    reason,
  }),
]
