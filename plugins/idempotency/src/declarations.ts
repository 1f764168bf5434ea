import { defineBusinessErrors, errorTable } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Every coded error of this plugin. */
export const idempotencyError = errorTable({
  PLINTH_IDEMPOTENCY_ROUTE: `Routes cannot take idempotency keys: {{routes}}.
    Take the annotation off: keys are for POST, PUT and PATCH, and for callers who are known.`,
})

export const messages = { en, 'zh-CN': zhCN }

/** Envelope codes as in draft-ietf-httpapi-idempotency-key-header, section 2.7. */
export const businessError = defineBusinessErrors('idempotency', en.idempotency, {
  'key-invalid': '400',
  'key-reused': '422',
  'in-progress': '409',
  'answer-not-kept': '409',
  'store-unavailable': '503',
})
