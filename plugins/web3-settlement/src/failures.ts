import { businessFailures } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('web3-settlement', en['web3-settlement'], {
  'review-log-unknown': '404',
  'audit-log-unknown': '404',
  'order-unknown': '404',
  'fingerprint-differs': '409',
})
