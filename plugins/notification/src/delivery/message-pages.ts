import { adminDetail, adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const user = { labels: 'iam.user', page: 'iam.user' }
const channel = { labels: 'notification.channel' }

const messageStates = {
  queued: text('Queued', '排队中'),
  sending: text('Sending', '发送中'),
  finished: text('Finished', '已结束'),
  cancelled: text('Cancelled', '已取消'),
}
const priorities = { normal: text('Normal', '普通'), critical: text('Critical', '紧急') }
const messageTones = { queued: 'quiet', sending: 'info', finished: 'good', cancelled: 'quiet' } as const
const priorityTones = { normal: 'quiet', critical: 'warn' } as const

const cancel = {
  label: text('Cancel message', '取消发送'),
  params: { id: 'id' },
  confirm: text(
    'The message "{{subject}}" is not sent, and its content is deleted.',
    '消息“{{subject}}”将不会发送，其内容会被删除。',
  ),
  tone: 'danger',
} as const

const messages = adminList('getNotifications', (row) => ({
  id: 'notification.messages',
  title: text('Messages', '消息'),
  empty: text('No messages yet.', '尚无消息。'),
  lead: text('Messages sent by operators and by the product.', '操作员和产品发送的消息。'),
  place: { group: 'messages', order: 10 },
  key: 'id',
  detail: 'notification.message',
  live: ['notification_message', 'notification_message_part'],
  columns: [
    row.time('createdAt'),
    row.text('subject', { link: true }),
    row.status('state', messageTones, { labels: messageStates }),
    row.reference('channels', channel),
    row.count('recipientCount'),
    row.count('outcomes.accepted'),
    row.count('outcomes.rejected'),
    row.text('senderName', { hidden: true }),
    row.status('priority', priorityTones, { labels: priorities, hidden: true }),
    row.time('notBefore', { hidden: true }),
    row.time('finishedAt', { hidden: true }),
    row.text('template', { mono: true, hidden: true }),
  ],
  filters: [{ name: 'state', labels: messageStates }],
  links: [
    { page: 'notification.compose', label: text('New message', '写消息'), creates: true },
    { page: 'notification.scheduled', label: text('Waiting messages', '定时消息') },
  ],
  actions: [row.action('postAdminNotificationMessagesByIdCancel', { ...cancel, when: { state: 'queued' } })],
}))

const scheduled = adminList('getAdminNotificationScheduledMessages', (row) => ({
  id: 'notification.scheduled',
  title: text('Waiting messages', '定时消息'),
  lead: text('Messages that are not sent yet. You can cancel them.', '尚未发送的消息，可以取消。'),
  key: 'id',
  detail: 'notification.message',
  live: ['notification_message'],
  columns: [
    row.time('notBefore'),
    row.text('subject', { link: true }),
    row.reference('channels', channel),
    row.count('recipientCount'),
    row.text('senderName'),
    row.time('createdAt', { hidden: true }),
    row.text('template', { mono: true, hidden: true }),
    row.status('priority', priorityTones, { labels: priorities, hidden: true }),
  ],
  sort: 'notBefore',
  forms: [
    adminForm('postAdminNotificationMessagesCancel', {
      title: text('Cancel by key', '按键取消'),
      lead: text(
        'Cancels all messages that a program enqueued with this key. Parts that have begun are sent.',
        '取消程序以此键排队的所有消息；已开始发送的部分会继续发送。',
      ),
      submit: text('Cancel messages', '取消消息'),
      tone: 'danger',
      fields: ['key', 'before', 'expiresAt'],
      showWhen: { expiresAt: { before: [true] } },
      answer: (it) => [
        it.count('cancelled', { title: text('Cancelled', '已取消') }),
        it.rows('tooLate', (row) => [
          row.reference('id', { labels: 'notification.message', page: 'notification.message' }),
        ]),
      ],
    }),
  ],
  links: [{ page: 'notification.compose', label: text('New message', '写消息'), creates: true }],
  actions: [row.action('postAdminNotificationMessagesByIdCancel', cancel)],
  empty: text(
    'No message is waiting. To schedule a message, choose a time on the page "New message".',
    '没有等待发送的消息。要定时发送，请在“写消息”页选择发送时间。',
  ),
}))

const message = adminDetail('getNotificationsById', (it) => ({
  id: 'notification.message',
  title: text('Message', '消息'),
  name: 'subject',
  param: 'id',
  live: ['notification_message', 'notification_message_part'],
  sections: [
    {
      columns: [
        it.status('state', messageTones, { labels: messageStates }),
        it.status('priority', priorityTones, { labels: priorities }),
        it.reference('channels', channel),
        it.count('recipientCount', { title: text('Number of recipients', '接收人数') }),
        it.text('template', { mono: true }),
        it.reference('senderUserId', user, { title: text('Sender', '发送人') }),
        it.time('notBefore'),
        it.text('messageId', { mono: true }),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    {
      title: text('Outcome', '发送结果'),
      columns: [
        it.count('outcomes.accepted'),
        it.count('outcomes.rejected'),
        it.count('outcomes.deferred'),
        it.count('outcomes.unknown'),
        it.count('outcomes.skipped'),
      ],
    },
  ],
  moments: [
    { at: 'createdAt', title: text('Message created', '创建消息') },
    { at: 'finishedAt', title: text('Finished', '已完成') },
  ],
  actions: [it.action('postAdminNotificationMessagesByIdCancel', { ...cancel, when: { state: 'queued' } })],
  related: [
    { page: 'notification.send-log', title: text('Deliveries', '投递记录'), filter: { notificationId: 'id' } },
    {
      page: 'notification.receipts',
      title: text('Read by', '已读回执'),
      filter: { messageId: 'messageId' },
      optional: true,
    },
    {
      page: 'notification.attachments',
      title: text('Attachments', '附件'),
      filter: { messageId: 'messageId' },
      optional: true,
    },
  ],
}))

export const messagePages = [messages, scheduled, message]
