import { type AuditTexts, bilingual as text } from '@plinth/kernel'

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'payment-order': {
    title: text('Payment order', '支付订单'),
    page: 'money.payment-order',
    actions: {
      refund: text('Refund', '退款'),
      close: text('Close', '关闭'),
    },
    facts: {
      amount: { title: text('Amount', '金额'), unitFrom: 'asset' },
      asset: { title: text('Asset', '资产'), hidden: true },
      refundNo: { title: text('Refund number', '退款单号') },
      reason: { title: text('Reason', '原因') },
    },
  },
}
