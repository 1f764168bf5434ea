import { type AuditTexts, bilingual as text } from '@plinth/kernel'

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
    actions: { cancel: text('Cancel', '取消发送') },
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
