import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/**
 * An unknown application, a disabled application and a wrong signature cause the same error, so that a caller cannot
 * find out which applications exist.
 */
export const businessError = defineBusinessErrors('open-platform', en['open-platform'], {
  'header-missing': '401',
  'header-invalid': '401',
  'timestamp-out-of-range': '401',
  'query-malformed': '400',
  'signature-invalid': '401',
  'nonce-used': '401',
  'scope-missing': '403',
  'replay-check-unavailable': '503',
  'metering-unavailable': '503',
  'secret-key-unusable': '503',
  'app-unknown': '404',
  'owner-out-of-scope': '403',
  'scope-unknown': '400',
  'version-conflict': '409',
  'grace-running': '409',
  'day-range': '400',
})
