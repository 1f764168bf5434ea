import { businessFailures } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Envelope codes as in draft-ietf-httpapi-idempotency-key-header, section 2.7. */
export const refusal = businessFailures('idempotency', en.idempotency, {
  'key-invalid': '400',
  'key-reused': '422',
  'in-progress': '409',
  'answer-not-kept': '409',
  'store-unavailable': '503',
})
