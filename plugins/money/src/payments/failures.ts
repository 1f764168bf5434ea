import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('payment', en.payment, {
  'terms-invalid': '400',
  'terms-differ': '409',
  'scene-unknown': '400',
  'order-unknown': '404',
  'order-not-pending': '409',
  'order-not-paid': '409',
  'payer-differs': '409',
  'refund-exceeds-paid': '409',
  'refund-differs': '409',
  'refund-hash-needed': '400',
  'refund-elsewhere': '409',
  'recharge-without-user': '400',
})
