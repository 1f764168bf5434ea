import { businessFailures } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const refusal = businessFailures('storage', en.storage, {
  'disk-unknown': '404',
  /** The text does not contain the path, because a path may contain anything. */
  'path-invalid': '400',
  'disk-disabled': '503',
  'file-unknown': '404',
  'file-too-large': '400',
  'path-taken': '409',
  'path-outside': '409',
  'signature-invalid': '403',
  'url-expired': '403',
  'url-revoked': '403',
})
