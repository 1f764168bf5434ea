import { defineBusinessErrors, errorTable } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const idempotencyError = errorTable({
  PLINTH_IDEMPOTENCY_NO_CLAIM: `{{route}} of plugin "{{plugin}}" accepts idempotency keys, but the call committed no transaction.
    Make the whole effect of the route in one \`transactional\` or \`statements\` call of the database. A route that calls other servers uses \`idempotentResumable\`.`,
  PLINTH_IDEMPOTENCY_ROUTE: `Some routes cannot accept idempotency keys: {{routes}}.
    Remove the annotation. Idempotency keys are supported for POST, PUT and PATCH, and only on routes with identified callers.`,
})

export const messages = { en, 'zh-CN': zhCN }

/** Envelope codes of draft-ietf-httpapi-idempotency-key-header, section 2.7. */
export const businessError = defineBusinessErrors('idempotency', en.idempotency, {
  'key-invalid': '400',
  'key-reused': '422',
  'in-progress': '409',
  'answer-not-kept': '409',
  'store-unavailable': '503',
})

/**
 * Seconds after which a caller may repeat a call that is still running. Most calls are faster. After a crash, the key
 * is blocked until its lease expires.
 */
const retryAfterSeconds = 2

export const inProgress = () =>
  businessError('in-progress', { params: { seconds: retryAfterSeconds }, data: { retryAfter: retryAfterSeconds } })
