import type { PaymentOrder, PaymentTransaction } from './contract.ts'
import type { PaymentOrderRow, PaymentTransactionRow } from './entities.ts'

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
