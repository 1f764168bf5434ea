import { defineBusinessErrors } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification', en.notification, {
  'attribute-refused': '400',
  'channel-not-found': '404',
  'channel-unknown': '400',
  'message-empty': '400',
  'message-not-found': '404',
  'no-queue': '400',
  'recipient-missing': '400',
  'not-before-too-far': '400',
  'not-durable': '400',
  'send-log-not-found': '404',
  'send-log-not-failed': '409',
  'send-log-not-restorable': '409',
  'test-recipient-missing': '400',
  'variables-missing': '400',
})
