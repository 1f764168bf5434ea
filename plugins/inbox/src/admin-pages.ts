import { adminAttention, adminBulkAction, adminDetail, adminForm, adminList, bulkOutcome } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

/** Tables whose changes change an inbox. */
const inboxTables = ['notification_inbox_item', 'notification_inbox_content', 'notification_inbox_mark']

const user = { labels: 'iam.user', page: 'iam.user' }

const receipts = adminList('getNotificationReadReceipts', (row) => ({
  id: 'notification.receipts',
  title: text('Read receipts', '已读回执'),
  empty: text('No recipient has read the message yet.', '尚无收件人阅读此消息。'),
  lead: text('Recipients of inbox messages, and when they read them.', '站内信的接收人及阅读时间。'),
  key: 'id',
  live: inboxTables,
  columns: [
    row.reference('userId', user, { title: text('Recipient', '接收人') }),
    row.time('readAt'),
    row.text('displaySubject', { title: text('Subject', '主题') }),
    row.text('messageId', { mono: true, hidden: true }),
  ],
  find: ['messageId'],
  filters: ['messageId'],
}))

const attachments = adminList('getNotificationMessageAttachments', (row) => ({
  id: 'notification.attachments',
  title: text('Attachments', '附件'),
  empty: text('No attachments yet.', '尚无附件。'),
  lead: text('Files attached to messages.', '随消息发送的文件。'),
  key: 'id',
  columns: [
    row.text('name'),
    row.text('contentType'),
    row.count('size', { unit: 'bytes' }),
    row.text('disk'),
    row.text('path', { mono: true, hidden: true }),
    row.text('messageId', { mono: true, hidden: true }),
  ],
  find: ['messageId'],
  filters: ['messageId'],
}))

const preferences = adminDetail('getNotificationsPreferences', (it) => ({
  id: 'notification.preferences',
  title: text('My notification preferences', '我的通知偏好'),
  place: { group: 'account', order: 50 },
  sections: [
    {
      title: text('Channels', '渠道'),
      columns: [
        it.flag('databaseEnabled'),
        it.flag('websocketEnabled'),
        it.flag('emailEnabled'),
        it.flag('smsEnabled'),
      ],
    },
    {
      title: text('Message types', '消息类型'),
      columns: [
        it.flag('systemEnabled'),
        it.flag('accountEnabled'),
        it.flag('todoEnabled'),
        it.flag('chatEnabled'),
        it.flag('blogEnabled'),
        it.flag('forumEnabled'),
        it.flag('mallEnabled'),
        it.flag('marketingEnabled'),
      ],
    },
    {
      title: text('Quiet hours', '免打扰时段'),
      columns: [it.text('quietHours.start'), it.text('quietHours.end'), it.text('quietHours.timeZone')],
    },
    {
      title: text('Language and time zone', '语言和时区'),
      columns: [it.reference('locale', { labels: 'console.language' }), it.text('timeZone')],
    },
  ],
  form: it.form('putNotificationsPreferences', {
    title: text('Change', '修改'),
    fields: [
      'databaseEnabled',
      'websocketEnabled',
      'emailEnabled',
      'smsEnabled',
      'systemEnabled',
      'accountEnabled',
      'todoEnabled',
      'chatEnabled',
      'blogEnabled',
      'forumEnabled',
      'mallEnabled',
      'marketingEnabled',
      'quietHours.start',
      'quietHours.end',
      'quietHours.timeZone',
      'locale',
      'timeZone',
    ],
    sections: [
      {
        title: text('Quiet hours', '免打扰时段'),
        fields: ['quietHours.start', 'quietHours.end', 'quietHours.timeZone'],
      },
      { title: text('Language and time zone', '语言和时区'), fields: ['locale', 'timeZone'] },
    ],
    options: {
      'quietHours.timeZone': { labels: 'console.time-zone', title: text('Time zone', '时区') },
      locale: { labels: 'console.language', free: true },
      timeZone: { labels: 'console.time-zone' },
    },
  }),
}))

const inbox = adminList('getNotificationsInbox', (row) => ({
  id: 'notification.inbox',
  title: text('My inbox', '我的站内信'),
  lead: text('Messages to you from the product and its users.', '产品及其他用户发给你的消息。'),
  place: { group: 'account', order: 40 },
  key: 'id',
  live: inboxTables,
  columns: [
    row.time('createdAt'),
    row.flag('unread'),
    row.text('displaySubject', { title: text('Subject', '主题') }),
    row.text('displayContent', { title: text('Message', '内容') }),
    row.text('module'),
    row.time('readAt', { hidden: true }),
    row.text('messageId', { mono: true, hidden: true }),
  ],
  search: 'keyword',
  filters: ['unreadOnly', 'module'],
  forms: [
    adminForm('putNotificationsInboxReadAll', {
      title: text('Mark all as read', '全部标为已读'),
      lead: text('All messages in your inbox are marked as read.', '站内信中的所有消息将标为已读。'),
      submit: text('Mark all', '全部标记'),
      fields: [],
    }),
  ],
  actions: [
    row.action('putNotificationsInboxByIdRead', {
      label: text('Mark as read', '标为已读'),
      params: { id: 'id' },
      when: { unread: true },
    }),
    row.action('putNotificationsInboxByIdUnread', {
      label: text('Mark as unread', '标为未读'),
      params: { id: 'id' },
      when: { unread: false },
    }),
    row.action('deleteNotificationsInboxById', {
      label: text('Delete', '删除'),
      params: { id: 'id' },
      tone: 'danger',
      confirm: text('The message will be deleted from your inbox.', '该消息将从你的站内信中删除。'),
    }),
  ],
  bulk: [
    adminBulkAction('putNotificationsInboxReadBatch', {
      label: text('Mark as read', '标为已读'),
      ids: 'ids',
      ...bulkOutcome,
    }),
    adminBulkAction('putNotificationsInboxUnreadBatch', {
      label: text('Mark as unread', '标为未读'),
      ids: 'ids',
      ...bulkOutcome,
    }),
    adminBulkAction('deleteNotificationsInbox', {
      label: text('Delete', '删除'),
      ids: 'ids',
      ...bulkOutcome,
      tone: 'danger',
      confirm: text('The messages will be deleted from your inbox.', '这些消息将从你的站内信中删除。'),
    }),
  ],
  empty: text('No messages yet.', '暂无消息。'),
}))

export const inboxPages = [inbox, receipts, attachments, preferences]

/** Number that is shown next to the page of the inbox in the navigation. */
export const unreadMessages = adminAttention('getNotificationsInboxUnreadCount', {
  id: 'notification.unread',
  title: text('Unread messages', '未读消息'),
  tone: 'warn',
  count: 'count',
  page: { id: 'notification.inbox' },
  place: 'navigation',
  live: inboxTables,
})
