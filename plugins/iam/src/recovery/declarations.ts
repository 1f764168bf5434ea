import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('recovery', en.recovery, {
  unavailable: '503',
  'token-invalid': '400',
  'invitation-withdrawn': '403',
  'email-missing': '409',
  'email-unchanged': '400',
  'password-missing': '409',
  'already-accepted': '409',
  'user-disabled': '409',
})
