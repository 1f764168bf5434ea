import {
  type AuditTexts,
  defineBusinessErrors,
  errorTable,
  type PermissionDeclaration,
  bilingual as text,
} from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('notification', en.notification, {
  'all-users-alone': '400',
  'attribute-refused': '400',
  'cancel-expiry-invalid': '400',
  'channel-not-found': '404',
  'channel-unknown': '400',
  'key-unknown': '404',
  'message-begun': '409',
  'message-empty': '400',
  'message-not-found': '404',
  'no-queue': '400',
  'recipient-missing': '400',
  'not-before-too-far': '400',
  'not-for-all': '400',
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
  PLINTH_NOTIFICATION_RESULT: `The channel "{{channel}}" returned {{result}}, which is not a result of a send.
    Return { outcome: 'accepted' }, or the outcome 'rejected', 'deferred' or 'unknown' with errorCode and errorMessage.`,
  PLINTH_NOTIFICATION_NO_QUEUE: `The message cannot be queued, because the product has {{missing}}.
    Add @plinth/database and @plinth/events to the product file, or send the message with send().`,
})

export const permissionCodes = {
  messageView: 'notification:message:view',
  messageSend: 'notification:message:send',
  sendLogView: 'notification:send-log:view',
  sendLogRetry: 'notification:send-log:retry',
} as const

export const permissions: readonly PermissionDeclaration[] = [
  { code: permissionCodes.messageView, displayName: { en: 'View notifications', 'zh-CN': '查看通知' } },
  { code: permissionCodes.messageSend, displayName: { en: 'Send notifications', 'zh-CN': '发送通知' } },
  { code: permissionCodes.sendLogView, displayName: { en: 'View the send log', 'zh-CN': '查看发送记录' } },
  {
    code: permissionCodes.sendLogRetry,
    displayName: { en: 'Send failed notifications again', 'zh-CN': '重发失败的通知' },
  },
]

/** Names of the audited actions, for people. */
export const audited: Readonly<Record<string, AuditTexts>> = {
  'notification-send-log': {
    title: text('Sent message', '发送记录'),
    page: 'notification.send',
    labels: 'notification.send-log',
    actions: { retry: text('Send again', '重新发送') },
    facts: { ids: { title: text('Messages', '消息'), labels: 'notification.send-log', page: 'notification.send' } },
  },
  'notification-message': {
    title: text('Message', '消息'),
    page: 'notification.message',
    actions: { cancel: text('Cancel', '取消发送'), 'cancel-key': text('Cancel by key', '按键取消发送') },
    facts: {
      key: { title: text('Key', '键') },
      cancelled: { title: text('Cancelled', '已取消') },
      tooLate: { title: text('Too late', '已来不及') },
    },
  },
  'notification-channel': {
    title: text('Channel', '渠道'),
    actions: {
      test: text('Send a test message', '发送测试消息'),
      verify: text('Check', '检查'),
    },
    facts: {
      verified: { title: text('Successful', '成功') },
      checked: { title: text('Checks', '检查项') },
      failedCheck: { title: text('Failed check', '未通过的检查') },
    },
  },
}
