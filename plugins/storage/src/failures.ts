import { BusinessError } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import type { PathRule } from './storage-path.ts'

export const messages = { en, 'zh-CN': zhCN }

/** Every business failure of this plugin with its envelope code (decision B1); the texts are in messages/. */
const codes = {
  'disk-unknown': '404',
  'disk-disabled': '503',
  'file-unknown': '404',
  'file-too-large': '400',
  'path-taken': '409',
  'path-outside': '409',
  'signature-invalid': '403',
  'url-expired': '403',
  'url-revoked': '403',
} as const

type Params = Readonly<Record<string, string | number>>

const filled = (text: string, params: Params) =>
  text.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => String(params[name] ?? whole))

/** A business failure with the stable reason `storage.<name>`. */
export const refusal = (reason: keyof typeof codes, params: Params = {}) =>
  new BusinessError(codes[reason], filled(en.storage[reason], params), { reason: `storage.${reason}`, params })

/** A path that can be on no disk. The path itself stays out of the text: it may be anything. */
export const pathInvalid = (rule: PathRule) =>
  new BusinessError('400', en.storage['path-invalid'][rule], {
    reason: 'storage.path-invalid',
    messageKey: `messages.storage.path-invalid.${rule}`,
    data: { rule },
  })
