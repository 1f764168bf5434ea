import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-inbox', en['notification-inbox'], {
  'item-unknown': '404',
  'message-invalid': '400',
  'message-needed': '400',
  'ids-missing': '400',
  'time-zone-unknown': '400',
  'quiet-hours-empty': '400',
})
