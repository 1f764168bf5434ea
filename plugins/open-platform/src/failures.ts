import { BusinessError, type BusinessErrorOptions } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

type Texts = (typeof en)['open-platform']

/**
 * Every business failure of this plugin with its envelope code (decision B1); the texts are in messages/. An unknown
 * application, a disabled one and a wrong signature are one failure, so that nobody can find out which applications exist.
 */
const codes = {
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
} as const satisfies Record<keyof Texts, string>

export type Reason = keyof typeof codes

/** A business failure with the stable reason `open-platform.<name>`. */
export function refusal(
  reason: Reason,
  options: Pick<BusinessErrorOptions, 'params' | 'data' | 'cause'> = {},
): BusinessError {
  const text = en['open-platform'][reason].replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    String(options.params?.[name] ?? ''),
  )
  return new BusinessError(codes[reason], text, { ...options, reason: `open-platform.${reason}` })
}
