import { bilingual as text } from '@plinth/kernel'
import type { BuiltInPage } from './own-pages.ts'

const channel = { labels: 'notification.channel' }

/** The page on which operators write, preview, send and schedule a message. */
export const composePage: BuiltInPage = {
  kind: 'own',
  id: 'notification.compose',
  title: text('New message', '写消息'),
  place: { group: 'messages', order: 15 },
  source: 'postNotificationsSend',
  operations: ['getNotificationsSendMetadata', 'postNotificationsTemplatePreview', 'postAdminNotificationAudience'],
  form: {
    operation: 'postNotificationsSend',
    title: text('New message', '写消息'),
    submit: text('Send', '发送'),
    fields: [
      'channels',
      'recipientUserIds',
      'template',
      'subject',
      'content',
      'locale',
      'notBefore',
      'priority',
      'attributes',
    ],
    // A template replaces subject and content.
    showWhen: { subject: { template: [''] }, content: { template: [''] } },
    options: {
      channels: { ...channel, title: text('Channels', '渠道') },
      recipientUserIds: { labels: 'iam.user', title: text('Recipients', '接收人') },
      template: { labels: 'template.code', title: text('Template', '模板'), optional: true },
      locale: { labels: 'console.language', free: true },
    },
    long: ['content'],
    answer: [
      { field: 'channel', as: 'reference', of: channel },
      {
        field: 'outcome',
        as: 'status',
        tones: { accepted: 'good', rejected: 'bad', deferred: 'info', unknown: 'warn' },
        labels: {
          accepted: text('Accepted', '已接收'),
          rejected: text('Rejected', '已拒绝'),
          deferred: text('Deferred', '已推迟'),
          unknown: text('Unknown', '未知'),
        },
      },
      { field: 'errorMessage', as: 'text' },
      { field: 'hint', as: 'text' },
    ],
  },
  labels: { priority: { normal: text('Normal', '普通'), critical: text('Critical', '紧急') } },
}
