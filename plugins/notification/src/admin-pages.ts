import {
  adminAttention,
  adminBulkAction,
  adminDetail,
  adminList,
  adminTile,
  adminTimeline,
  metricChart,
  type Operations,
  type Row,
} from '@plinth/admin'
import { type LocalizedText, bilingual as text } from '@plinth/kernel'
import { outcomes, outcomeTones } from './channels/channel-pages.ts'
import { failureTexts } from './failure-texts.ts'

const channel = { labels: 'notification.channel' }

const sendStates = {
  success: text('Sent', '已发送'),
  failed: text('Failed', '失败'),
  waiting: text('Waiting for retry', '等待重发'),
  retried: text('Failed, retried', '失败后已重发'),
  sending: text('Sending', '发送中'),
  unknown: text('Unknown', '结果未知'),
  dead: text('Cancelled after retries', '重试后已放弃'),
}
const sendTones = {
  success: 'good',
  failed: 'bad',
  waiting: 'info',
  retried: 'quiet',
  sending: 'info',
  unknown: 'warn',
  dead: 'bad',
} as const

const deliveryStates = {
  queued: text('Queued', '排队中'),
  sent: text('Sent', '已发出'),
  delayed: text('Delayed', '延迟'),
  delivered: text('Delivered', '已送达'),
  failed: text('Not attempted', '未投递'),
  bounced: text('Bounced', '被退回'),
  complained: text('Complaint', '被投诉'),
  unconfirmed: text('Unconfirmed', '未确认'),
}
const deliveryTones = {
  queued: 'info',
  sent: 'info',
  delayed: 'warn',
  delivered: 'good',
  failed: 'bad',
  bounced: 'bad',
  complained: 'bad',
  unconfirmed: 'quiet',
} as const
const bounceKinds = { hard: text('Hard: the address is wrong', '硬退回：地址无效'), soft: text('Soft', '软退回') }

const failure = { title: text('Reason', '原因'), labels: failureTexts }
const channelNames = {
  database: text('Inbox', '站内信'),
  mail: text('E-mail', '邮件'),
  sms: text('SMS', '短信'),
  social: text('WeChat', '微信'),
  webhook: text('Webhook', 'Webhook 推送'),
  websocket: text('Realtime', '实时通知'),
  log: text('Log', '日志'),
  memory: text('Memory', '内存'),
}

const retry = text('Send again', '重发')
const maybeTwice = text(
  'It is unknown whether this message was sent. The recipients may receive it twice.',
  '无法确定此消息是否已发送，接收人可能会收到两次。',
)
const resend = text(
  'The message “{{subject}}” is sent again to {{recipients}}. Channel: {{channel}}.',
  '将再次向 {{recipients}} 发送消息“{{subject}}”，渠道：{{channel}}。',
)
type Retry = Operations['postNotificationSendLogsByIdRetry']['data']
/** The result of a retry, on the list and on the page of a send. */
const retried = {
  answer: (it: Row<Retry>) => [
    it.status('result.outcome', outcomeTones, { labels: outcomes }),
    it.text('result.errorCode', failure),
    it.text('result.messageId', { mono: true }),
  ],
  outcome: { field: 'result.outcome', good: ['accepted'], reason: 'result.errorMessage' },
  created: { page: 'notification.send', field: 'logId' },
} as const

const sendLog = adminList('getNotificationSendLogs', (row) => ({
  id: 'notification.send-log',
  title: text('Send log', '发送记录'),
  empty: text('No messages were sent yet.', '尚无发送记录。'),
  lead: text('Outcome of each message on each channel.', '每条消息在各渠道的发送结果。'),
  place: { group: 'messages', order: 20 },
  formerly: ['notification.send-summary'],
  key: 'id',
  detail: 'notification.send',
  live: ['notification_send_log'],
  columns: [
    row.time('createdAt'),
    row.status('status', sendTones, { labels: sendStates }),
    row.status('deliveryState', deliveryTones, { labels: deliveryStates }),
    row.reference('channel', channel, { labels: channelNames }),
    row.text('subject', { link: true }),
    row.reference('recipients', { labels: 'iam.actor' }),
    row.text('errorCode', failure),
    row.text('errorMessage', { hidden: true }),
    row.count('attempt', { hidden: true }),
    row.time('nextAttemptAt', { hidden: true }),
    row.text('provider', { hidden: true, mono: true }),
    row.text('template', { mono: true, hidden: true }),
    row.text('traceId', { mono: true, hidden: true, trace: true }),
  ],
  find: ['notificationId'],
  filters: [
    { name: 'status', labels: sendStates },
    { name: 'deliveryState', labels: deliveryStates },
    { name: 'channel', options: { labels: 'notification.channel', title: text('Channel', '渠道') } },
    'retryableOnly',
    'notificationId',
  ],
  sort: '-createdAt',
  links: [{ page: 'social.messages', label: text('WeChat messages', '微信消息记录'), optional: true }],
  actions: [
    row.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { retryable: true },
      confirm: resend,
      ...retried,
    }),
    row.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { status: 'unknown' },
      confirm: maybeTwice,
      ...retried,
    }),
  ],
  bulk: [
    adminBulkAction('postNotificationSendLogsRetryBatch', {
      label: retry,
      ids: 'ids',
      confirm: text(
        'The messages are sent again one by one. If one of them cannot be sent again, none is sent.',
        '将逐条重发这些消息。只要有一条不能重发，就全部不发送。',
      ),
      answer: (it) => [
        it.reference('id', { labels: 'notification.send-log' }, { title: text('Message', '消息') }),
        it.reference('result.channel', channel),
        it.status('result.outcome', outcomeTones, { labels: outcomes }),
        it.text('result.errorCode', failure),
        it.text('result.errorMessage'),
      ],
      outcome: { field: 'result.outcome', good: ['accepted'], reason: 'result.errorMessage', id: 'id' },
    }),
  ],
}))

export const sendTimelines = [
  adminTimeline('getNotificationSendLogs', (row) => ({
    id: 'notification.deliveries-of-message',
    page: 'notification.message',
    filter: { notificationId: 'id' },
    at: 'createdAt',
    columns: [
      row.status('status', sendTones, { labels: sendStates }),
      row.status('deliveryState', deliveryTones, { labels: deliveryStates }),
      row.reference('channel', channel, { labels: channelNames }),
      row.text('errorCode', failure),
    ],
    opens: { page: 'notification.send', field: 'id' },
  })),
]

const send = adminDetail('getNotificationSendLogsById', (it) => ({
  id: 'notification.send',
  title: text('Send log entry', '发送记录'),
  name: 'subject',
  param: 'id',
  live: ['notification_send_log'],
  sections: [
    {
      columns: [
        it.status('status', sendTones, { labels: sendStates }),
        it.reference('channel', channel, { labels: channelNames }),
        it.text('provider', { mono: true }),
        it.time('createdAt'),
        it.count('attempt'),
        it.time('nextAttemptAt'),
        it.reference(
          'retryOfId',
          { labels: 'notification.send-log', page: 'notification.send' },
          { title: text('Retry of', '重试自') },
        ),
        it.count('recipientCount', { title: text('Number of recipients', '接收人数') }),
        it.reference('recipients', { labels: 'iam.actor' }),
        it.text('template', { mono: true }),
        it.reference(
          'notificationId',
          { labels: 'notification.message', page: 'notification.message' },
          { title: text('Message', '消息') },
        ),
        it.text('messageId', { mono: true }),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    {
      title: text('Delivery', '投递结果'),
      columns: [
        it.status('deliveryState', deliveryTones, { labels: deliveryStates }),
        it.text('bounceKind', { labels: bounceKinds }),
        it.text('deliveryDetail', { mono: true }),
        it.time('delayedAt'),
        it.time('deliveredAt'),
        it.time('bouncedAt'),
        it.time('complainedAt'),
        it.time('deliveryFailedAt'),
      ],
    },
    {
      title: text('Response of the channel', '渠道返回'),
      columns: [
        it.text('errorCode', failure),
        it.text('errorMessage'),
        it.text('hint'),
        it.text('providerMessage'),
        it.text('providerCode', { mono: true }),
        it.status('outcome', outcomeTones, { labels: outcomes }),
        it.flag('retryable'),
      ],
    },
  ],
  actions: [
    it.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { retryable: true },
      confirm: resend,
      ...retried,
    }),
    it.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { status: 'unknown' },
      confirm: maybeTwice,
      ...retried,
    }),
  ],
}))

export const sendPages = [sendLog, send]

const onSendLog = (
  field: 'failedLast24h' | 'retryable' | 'waiting' | 'unknown',
  title: LocalizedText,
  order: number,
  filter: Readonly<Record<string, string>>,
) =>
  adminTile('getNotificationSendLogsSummary', {
    id: `notification.log-${field.toLowerCase()}`,
    page: 'notification.send-log',
    title,
    order,
    field,
    opens: { id: 'notification.send-log', filter },
  })
export const sendLogTiles = [
  onSendLog('failedLast24h', text('Failed in the last 24 hours', '最近 24 小时失败'), 10, {
    status: 'failed',
    from: '24h',
  }),
  onSendLog('unknown', text('Outcome unknown', '结果未知'), 20, { status: 'unknown' }),
  onSendLog('retryable', text('Can be sent again', '可重发'), 30, { retryableOnly: 'true' }),
  onSendLog('waiting', text('Wait for another attempt', '等待再次尝试'), 40, { status: 'deferred' }),
]

export const sendsNeedAttention = [
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.failed',
    title: text('Messages that failed in the last 24 hours', '最近 24 小时发送失败的消息'),
    tone: 'bad',
    unattended: text('The recipients do not get these messages.', '接收人收不到这些消息。'),
    count: 'failedLast24h',
    page: { id: 'notification.send-log', filter: { status: 'failed', from: '24h' } },
  }),
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.dead',
    title: text('Messages cancelled after retries', '重试后已放弃的消息'),
    tone: 'bad',
    unattended: text('The recipients do not get these messages.', '接收人收不到这些消息。'),
    count: 'dead',
    oldest: {
      source: 'getNotificationSendLogs',
      query: { status: 'dead', sort: 'createdAt', size: 1 },
      at: 'createdAt',
    },
    page: { id: 'notification.send-log', filter: { status: 'dead' } },
  }),
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.unknown',
    title: text('Messages with an unknown outcome', '结果未知的消息'),
    tone: 'warn',
    unattended: text('Nobody knows whether the recipients got these messages.', '无法得知接收人是否收到这些消息。'),
    count: 'unknown',
    oldest: {
      source: 'getNotificationSendLogs',
      query: { status: 'unknown', sort: 'createdAt', size: 1 },
      at: 'createdAt',
    },
    page: { id: 'notification.send-log', filter: { status: 'unknown' } },
  }),
]

const metric = 'platform_notification_sends_total'
const lines = [
  { name: 'accepted', title: outcomes.accepted, tone: 'good', where: { outcome: ['accepted'] } },
  {
    name: 'failed',
    title: text('Not accepted', '未被接收'),
    tone: 'bad',
    where: { outcome: ['rejected', 'deferred', 'unknown'] },
  },
] as const

/** Charts of sends. The overview shows all sends together; the page of the send log shows them by channel. */
export const sendCharts = [
  metricChart({
    id: 'notification.sends',
    title: text('Messages sent', '消息发送'),
    page: 'notification.send-log',
    order: 5,
    metric,
    lines,
  }),
  metricChart({
    id: 'notification.channels',
    title: text('Messages by channel', '各渠道的发送'),
    page: 'notification.send-log',
    order: 10,
    metric,
    by: 'channel',
    labels: channelNames,
    lines,
  }),
]
