import { BusinessError, type BusinessErrorOptions } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

type Texts = typeof en.iam

/** Every business failure of this plugin with its envelope code (decision B1); the texts are in messages/. */
const codes = {
  'token-missing': '401',
  'token-invalid': '401',
  'token-expired': '401',
  'permission-denied': '403',
  'out-of-scope': '403',
  'organisation-out-of-scope': '403',
  'creation-out-of-scope': '403',
  'own-password': '403',
  'login-failed': '401',
  'user-disabled': '403',
  busy: '503',
  'user-unknown': '404',
  'role-unknown': '404',
  'session-unknown': '404',
  'username-invalid': '400',
  'username-mixed-script': '400',
  'email-invalid': '400',
  'mobile-invalid': '400',
  'username-taken': '409',
  'email-taken': '409',
  'email-changed': '409',
  'mobile-taken': '409',
  'role-code-taken': '409',
  'external-identity-taken': '409',
  'version-conflict': '409',
  'last-administrator': '409',
  'beyond-own-authority': '403',
  'role-built-in': '409',
  'role-in-use': '409',
  'permission-unknown': '400',
  'password-wrong': '400',
  'password-refused': '400',
  'changed-meanwhile': '409',
} as const satisfies Record<keyof Texts, string>

export type Reason = keyof typeof codes

/** A business failure with the stable reason `iam.<name>`. */
export function refusal(
  reason: Reason,
  options: Pick<BusinessErrorOptions, 'params' | 'data' | 'cause'> = {},
): BusinessError {
  const text = en.iam[reason].replace(/\{\{(\w+)\}\}/g, (_, name: string) => String(options.params?.[name] ?? ''))
  return new BusinessError(codes[reason], text, { ...options, reason: `iam.${reason}` })
}

/** By name, because a guard may bring another copy of the kernel. */
export const isBusinessError = (error: unknown): error is BusinessError =>
  error instanceof Error && error.name === 'BusinessError'
