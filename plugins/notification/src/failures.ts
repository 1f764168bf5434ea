import { defineBusinessErrors, errorTable } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification', en.notification, {
  'attribute-refused': '400',
  'channel-not-found': '404',
  'channel-unknown': '400',
  'message-begun': '409',
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

export const notificationError = errorTable({
  PLINTH_NOTIFICATION_UNKNOWN_CHANNEL: `No loaded plugin provides the default channel "{{channel}}". Loaded channels: {{loaded}}.{{nearest}}
    Add the plugin of that channel to the product file, or set platform.notification.default-channel to a loaded channel.`,
  PLINTH_NOTIFICATION_NO_QUEUE: `The message cannot be queued, because the product has {{missing}}.
    Add @plinth/database and @plinth/events to the product file, or send the message with send().`,
})
