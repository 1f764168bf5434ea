import { defineBusinessErrors, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('authenticators', en.authenticators, {
  'passkey-refused': '401',
  'passkeys-unavailable': '409',
  'passkey-invalid': '400',
  'passkey-taken': '409',
  'passkey-limit': '409',
  'passkey-unknown': '404',
  'totp-invalid': '401',
  'totp-blocked': '429',
  'totp-set-up': '409',
  'totp-not-set-up': '404',
  'set-up-invalid': '400',
  'recovery-code-invalid': '401',
  'secret-key-unusable': '503',
  'factor-missing': '409',
  'factor-required': '409',
  'last-sign-in-way': '409',
  'own-reset': '403',
  'nothing-to-reset': '409',
  'user-unknown': '404',
})

export const resetPermission = 'authenticators:factors:reset'

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: resetPermission,
    displayName: { en: 'Remove the second factors of users', 'zh-CN': '清除用户的第二因素' },
    description: {
      en: 'For users who have lost their devices. Also ends their sessions and API tokens.',
      'zh-CN': '用于丢失设备的用户，同时结束其会话和 API 令牌。',
    },
  },
]
