import { BusinessError, type BusinessErrorOptions } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

/** Every business failure with its envelope code (decisions B1, B20); the texts are in messages/. */
const codes = {
  disabled: '403',
  'mobile-invalid': '400',
  'email-invalid': '400',
  'scene-invalid': '400',
  'code-invalid': '400',
  'sender-missing': '503',
  'delivery-failed': '503',
  'store-unavailable': '503',
} as const satisfies Record<keyof typeof en.verification, string>

/** A business failure with the stable reason `verification.<name>`. */
export function refusal(
  reason: keyof typeof codes,
  options: Pick<BusinessErrorOptions, 'data' | 'cause'> = {},
): BusinessError {
  return new BusinessError(codes[reason], en.verification[reason], { ...options, reason: `verification.${reason}` })
}
