import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { PaymentStatus } from './contract.ts'

/** Read here only: every change is a conditional update. */
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
  ],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    /** SHA-256 of the terms. */
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
    transactionHash: column.text(128).nullable(),
    status: column.text(16).$type<PaymentStatus>(),
    refundedAmount: column.bigint(),
    version: column.integer(),
    createdAt: column.bigint(),
    paidAt: column.bigint().nullable(),
  },
})
export type PaymentOrderRow = InferEntity<typeof PaymentOrderRow>

/** Three keys: the number with its transaction, the event of a chain, and the place of that event in its transaction. */
export const PaymentTransactionRow = defineEntity({
  name: 'MoneyPaymentTransaction',
  tableName: 'money_payment_transaction',
  uniques: [
    { properties: ['outTradeNo', 'transactionHash', 'type'] },
    { properties: ['eventKey'] },
    { properties: ['chainName', 'transactionHash', 'logOrdinal'] },
  ],
  indexes: [{ properties: ['outTradeNo', 'id'] }, { properties: ['type', 'id'] }],
  properties: {
    id: column.primaryKey(),
    outTradeNo: column.text(64),
    type: column.text(32),
    transactionHash: column.text(128),
    amount: column.bigint(),
    eventKey: column.text(255).nullable(),
    chainName: column.text(64).nullable(),
    logOrdinal: column.integer().nullable(),
    facts: column.json<Record<string, unknown>>().nullable(),
    createdAt: column.bigint(),
  },
})
export type PaymentTransactionRow = InferEntity<typeof PaymentTransactionRow>

export const entities = [PaymentOrderRow, PaymentTransactionRow]
