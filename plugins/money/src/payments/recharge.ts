import { bilingual, omitUndefined } from '@plinth/kernel'
import type { Ledger } from '../contract.ts'
import type { PaymentOrder, PaymentSuccessHandler } from './contract.ts'
import { businessError } from './declarations.ts'

const ownerOf = ({ userId }: PaymentOrder) => {
  if (userId === null) throw businessError('recharge-without-user')
  return { type: 'user', id: String(userId) }
}

/**
 * Credits a paid order to the account of its user and debits refunds. Units that are already spent are owed. The keys
 * contain the order number, so nothing is posted twice.
 */
export const rechargeHandler = (ledger: Pick<Ledger, 'credit' | 'find' | 'takeBack'>): PaymentSuccessHandler => ({
  title: bilingual('Recharge', '充值'),
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
  async refunded(order, { refundNo, amount, reason, recovery }) {
    const { outTradeNo, asset } = order
    const { owed } = await ledger.takeBack(
      omitUndefined({
        owner: ownerOf(order),
        asset,
        amount,
        kind: 'payment.recharge-refund',
        key: `payment:${outTradeNo}:refund:${refundNo}`,
        reference: { type: 'payment-order', id: outTradeNo },
        reason,
        recovery,
      }),
    )
    return { owed }
  },
  async owedAfter(order, amount) {
    const account = await ledger.find({ owner: ownerOf(order), asset: order.asset })
    const available = account?.status === 'open' ? (account.available ?? 0) : 0
    return Math.max(0, amount - available)
  },
})
