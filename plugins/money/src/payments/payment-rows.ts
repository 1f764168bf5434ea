import { exactInteger } from '@plinth/database'
import type { PaymentOrder, PaymentStatus, PaymentTransaction } from './contract.ts'
import type { PaymentOrderRow, PaymentTransactionRow } from './entities.ts'

/** As a driver gives it, by column. */
export type PlainRow = Readonly<Record<string, unknown>>

/** Columns that `plainOrder` reads. */
export const orderRead = `id, out_trade_no, provider, scene, user_id, asset, amount, chain_name, chain_id, token_contract,
  receiver, amount_raw, required_confirmations, transaction_hash, status, refunded_amount, version, created_at, paid_at`

/** Columns that `plainTransaction` reads. */
export const transactionRead =
  'id, out_trade_no, type, transaction_hash, amount, event_key, chain_name, log_ordinal, facts, created_at'

export function orderOf(row: PaymentOrderRow): PaymentOrder {
  const { id, outTradeNo, provider, scene, asset, amount, status, refundedAmount, version, createdAt } = row
  return {
    ...{ id, outTradeNo, provider, scene, asset, amount, status, refundedAmount, version, createdAt },
    userId: row.userId ?? null,
    chainName: row.chainName ?? null,
    chainId: row.chainId ?? null,
    tokenContract: row.tokenContract ?? null,
    receiver: row.receiver ?? null,
    amountRaw: row.amountRaw ?? null,
    requiredConfirmations: row.requiredConfirmations ?? null,
    transactionHash: row.transactionHash ?? null,
    paidAt: row.paidAt ?? null,
  }
}

export function transactionOf(row: PaymentTransactionRow): PaymentTransaction {
  const { id, outTradeNo, type, transactionHash, amount, createdAt } = row
  return {
    ...{ id, outTradeNo, type, transactionHash, amount, createdAt },
    eventKey: row.eventKey ?? null,
    chainName: row.chainName ?? null,
    logOrdinal: row.logOrdinal ?? null,
    facts: row.facts ?? null,
  }
}

/** As `orderOf`, without an entity between: of many rows that is most of the work. */
export const plainOrder = (row: PlainRow): PaymentOrder => ({
  id: exactInteger(row['id']),
  outTradeNo: row['out_trade_no'] as string,
  provider: row['provider'] as string,
  scene: row['scene'] as string,
  userId: wholeOrNone(row['user_id']),
  asset: row['asset'] as string,
  amount: exactInteger(row['amount']),
  chainName: textOrNone(row['chain_name']),
  chainId: wholeOrNone(row['chain_id']),
  tokenContract: textOrNone(row['token_contract']),
  receiver: textOrNone(row['receiver']),
  amountRaw: textOrNone(row['amount_raw']),
  requiredConfirmations: wholeOrNone(row['required_confirmations']),
  transactionHash: textOrNone(row['transaction_hash']),
  status: row['status'] as PaymentStatus,
  refundedAmount: exactInteger(row['refunded_amount']),
  version: exactInteger(row['version']),
  createdAt: exactInteger(row['created_at']),
  paidAt: wholeOrNone(row['paid_at']),
})

/** As `transactionOf`, without an entity between. */
export const plainTransaction = (row: PlainRow): PaymentTransaction => ({
  id: exactInteger(row['id']),
  outTradeNo: row['out_trade_no'] as string,
  type: row['type'] as string,
  transactionHash: row['transaction_hash'] as string,
  amount: exactInteger(row['amount']),
  eventKey: textOrNone(row['event_key']),
  chainName: textOrNone(row['chain_name']),
  logOrdinal: wholeOrNone(row['log_ordinal']),
  facts: factsOrNone(row['facts']),
  createdAt: exactInteger(row['created_at']),
})

const wholeOrNone = (value: unknown) => (value == null ? null : exactInteger(value))
const textOrNone = (value: unknown) => (value ?? null) as string | null

/** Some drivers give JSON as its text, some as what it says. */
const factsOrNone = (value: unknown): PaymentTransaction['facts'] =>
  typeof value === 'string' ? JSON.parse(value) : ((value ?? null) as PaymentTransaction['facts'])
