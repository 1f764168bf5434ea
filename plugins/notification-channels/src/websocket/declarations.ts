import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification-websocket', en['notification-websocket'], {
  'upgrade-needed': '400',
  'credential-missing': '401',
  'origin-unproven': '403',
  'switched-off': '503',
  going: '503',
  'too-many': '429',
})
