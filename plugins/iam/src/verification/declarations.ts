import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('verification', en.verification, {
  disabled: '403',
  'mobile-invalid': '400',
  'email-invalid': '400',
  'country-not-allowed': '400',
  'scene-invalid': '400',
  'code-invalid': '400',
  'sender-missing': '503',
  'delivery-failed': '503',
  'store-unavailable': '503',
})
