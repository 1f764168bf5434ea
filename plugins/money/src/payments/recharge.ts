import { omitUndefined } from '@plinth/kernel'
import type { Ledger } from '../contract.ts'
import type { PaymentOrder, PaymentSuccessHandler } from './contract.ts'
import { businessError } from './declarations.ts'

const ownerOf = ({ userId }: PaymentOrder) => {
  if (userId === null) throw businessError('recharge-without-user')
  return { type: 'user', id: String(userId) }
}

/**
 * Credits a paid order to the account of its user and debits refunds. A refund fails if the units are already spent.
 * The keys contain the order number, so nothing is posted twice.
 */
export const rechargeHandler = (ledger: Pick<Ledger, 'credit' | 'debit'>): PaymentSuccessHandler => ({
  async paid(order) {
    const { outTradeNo, asset, amount } = order
    await ledger.credit({
      owner: ownerOf(order),
      asset,
      amount,
      key: `payment:${outTradeNo}`,
      kind: 'payment.recharge',
      reference: { type: 'payment-order', id: outTradeNo },
    })
  },
  async refunded(order, { refundNo, amount, reason }) {
    const { outTradeNo, asset } = order
    await ledger.debit(
      omitUndefined({
        owner: ownerOf(order),
        asset,
        amount,
        kind: 'payment.recharge-refund',
        key: `payment:${outTradeNo}:refund:${refundNo}`,
        reference: { type: 'payment-order', id: outTradeNo },
        reason,
      }),
    )
  },
})
