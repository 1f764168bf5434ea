import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('web3-settlement', en['web3-settlement'], {
  'review-log-unknown': '404',
  'audit-log-unknown': '404',
  'order-unknown': '404',
  'orders-needed': '400',
  'fingerprint-differs': '409',
  'second-person-required': '403',
  'other-orders-out-of-scope': '403',
  'payer-invalid': '400',
  'payer-not-proven': '403',
})
