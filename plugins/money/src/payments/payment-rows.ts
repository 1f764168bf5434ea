import { exactInteger } from '@plinth/database'
import type { PaymentOrder, PaymentStatus, PaymentTransaction } from './contract.ts'
import type { PaymentOrderRow, PaymentTransactionRow } from './entities.ts'

/** Numbers as a driver gives them. */
type Whole = number | string | bigint

/** An order as a driver gives it. */
export interface PlainOrder {
  readonly id: Whole
  readonly out_trade_no: string
  readonly provider: string
  readonly scene: string
  readonly user_id: Whole | null
  readonly asset: string
  readonly amount: Whole
  readonly chain_name: string | null
  readonly chain_id: Whole | null
  readonly token_contract: string | null
  readonly receiver: string | null
  readonly amount_raw: string | null
  readonly required_confirmations: Whole | null
  readonly transaction_hash: string | null
  readonly status: PaymentStatus
  readonly refunded_amount: Whole
  readonly version: Whole
  readonly created_at: Whole
  readonly paid_at: Whole | null
}

/** A transaction as a driver gives it. */
export interface PlainTransaction {
  readonly id: Whole
  readonly out_trade_no: string
  readonly type: string
  readonly transaction_hash: string
  readonly amount: Whole
  readonly event_key: string | null
  readonly chain_name: string | null
  readonly log_ordinal: Whole | null
  readonly facts: string | PaymentTransaction['facts']
  readonly created_at: Whole
}

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
export const plainOrder = (row: PlainOrder): PaymentOrder => ({
  id: exactInteger(row.id),
  outTradeNo: row.out_trade_no,
  provider: row.provider,
  scene: row.scene,
  userId: wholeOrNone(row.user_id),
  asset: row.asset,
  amount: exactInteger(row.amount),
  chainName: row.chain_name ?? null,
  chainId: wholeOrNone(row.chain_id),
  tokenContract: row.token_contract ?? null,
  receiver: row.receiver ?? null,
  amountRaw: row.amount_raw ?? null,
  requiredConfirmations: wholeOrNone(row.required_confirmations),
  transactionHash: row.transaction_hash ?? null,
  status: row.status,
  refundedAmount: exactInteger(row.refunded_amount),
  version: exactInteger(row.version),
  createdAt: exactInteger(row.created_at),
  paidAt: wholeOrNone(row.paid_at),
})

/** As `transactionOf`, without an entity between. */
export const plainTransaction = (row: PlainTransaction): PaymentTransaction => ({
  id: exactInteger(row.id),
  outTradeNo: row.out_trade_no,
  type: row.type,
  transactionHash: row.transaction_hash,
  amount: exactInteger(row.amount),
  eventKey: row.event_key ?? null,
  chainName: row.chain_name ?? null,
  logOrdinal: wholeOrNone(row.log_ordinal),
  facts: factsOrNone(row.facts),
  createdAt: exactInteger(row.created_at),
})

const wholeOrNone = (value: unknown) => (value == null ? null : exactInteger(value))

/** Some drivers give JSON as its text, some as what it says. */
const factsOrNone = (value: PlainTransaction['facts']): PaymentTransaction['facts'] =>
  typeof value === 'string' ? JSON.parse(value) : (value ?? null)
