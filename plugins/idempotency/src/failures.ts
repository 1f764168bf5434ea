import { BusinessError, type BusinessErrorOptions } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

type Texts = typeof en.idempotency

/**
 * Every business failure of this plugin with its envelope code; the texts are in messages/. The codes are those of
 * draft-ietf-httpapi-idempotency-key-header, section 2.7.
 */
const codes = {
  'key-invalid': '400',
  'key-reused': '422',
  'in-progress': '409',
  'answer-not-kept': '409',
  'store-unavailable': '503',
} as const satisfies Record<keyof Texts, string>

/** A business failure with the stable reason `idempotency.<name>`. */
export function refusal(
  reason: keyof typeof codes,
  options: Pick<BusinessErrorOptions, 'params' | 'data' | 'cause'> = {},
): BusinessError {
  const text = en.idempotency[reason].replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    String(options.params?.[name] ?? ''),
  )
  return new BusinessError(codes[reason], text, { ...options, reason: `idempotency.${reason}` })
}
