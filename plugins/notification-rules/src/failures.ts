import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-rules', en['notification-rules'], {
  'channel-unknown': '400',
  'code-taken': '409',
  'event-invalid': '400',
  'ids-invalid': '400',
  'recipients-needed': '403',
  'too-many': '409',
  unknown: '404',
  'version-conflict': '409',
})
