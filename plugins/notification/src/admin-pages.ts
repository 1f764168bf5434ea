import { adminAttention, adminBulk, adminDetail, adminForm, adminList, adminPreview, measuredChart } from '@plinth/http'
import { bilingual as text } from '@plinth/kernel'

const user = { labels: 'iam.user', page: 'iam.user' }
const channel = { labels: 'notification.channel' }
const users = { labels: 'iam.user', title: text('Recipients', '接收人') }
const channels = { labels: 'notification.channel', title: text('Channels', '渠道') }

const sendStates = {
  success: text('Sent', '已发送'),
  failed: text('Failed', '失败'),
  retried: text('Failed, sent again', '失败后已重发'),
  sending: text('Under way', '发送中'),
  unknown: text('Unknown', '结果未知'),
  dead: text('Given up', '已放弃'),
}
const outcomes = {
  accepted: text('Accepted', '已接收'),
  rejected: text('Rejected', '被拒绝'),
  deferred: text('Put off', '已推迟'),
  unknown: text('Unknown', '未知'),
}
const messageStates = {
  queued: text('Queued', '排队中'),
  sending: text('Under way', '发送中'),
  finished: text('Finished', '已结束'),
}
const priorities = { normal: text('Normal', '普通'), critical: text('Critical', '紧急') }
const sendTones = {
  ...({ success: 'good', failed: 'bad', retried: 'quiet', sending: 'info', unknown: 'warn', dead: 'bad' } as const),
}
const outcomeTones = { accepted: 'good', rejected: 'bad', deferred: 'info', unknown: 'warn' } as const
const messageTones = { queued: 'quiet', sending: 'info', finished: 'good' } as const
const priorityTones = { normal: 'quiet', critical: 'warn' } as const

const retry = text('Send again', '重发')
const maybeTwice = text(
  'Nobody knows whether this message was sent. Its recipients may get it twice.',
  '无法确定此消息是否已发送，接收人可能会收到两次。',
)

const sendLog = adminList('getNotificationSendLogs', (row) => ({
  id: 'notification.send-log',
  title: text('Send log', '发送记录'),
  lead: text('What became of every message on every channel.', '每条消息在各渠道的发送结果。'),
  place: { group: 'messages', order: 10 },
  key: 'id',
  detail: 'notification.send',
  live: ['notification_send_log'],
  columns: [
    row.time('createdAt'),
    row.status('status', sendTones, { labels: sendStates }),
    row.reference('channel', channel),
    row.text('subject', { link: true }),
    row.chips('recipients'),
    row.text('errorMessage'),
    row.text('errorCode', { mono: true, hidden: true }),
    row.count('attempt'),
    row.text('provider', { hidden: true }),
    row.text('template', { mono: true, hidden: true }),
    row.text('traceId', { mono: true, hidden: true }),
    row.text('id', { mono: true, hidden: true }),
  ],
  find: ['notificationId'],
  filters: [
    { name: 'status', labels: sendStates },
    { name: 'channel', options: { labels: 'notification.channel', title: text('Channel', '渠道') } },
    'retryableOnly',
    'notificationId',
  ],
  sort: '-createdAt',
  actions: [
    row.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { retryable: true },
      answer: (it) => [it.text('result.messageId'), it.text('result.outcome'), it.text('result.errorMessage')],
    }),
    row.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { status: 'unknown' },
      confirm: maybeTwice,
    }),
  ],
  bulk: [
    adminBulk('postNotificationSendLogsRetryBatch', {
      label: retry,
      ids: 'ids',
      confirm: text(
        'The messages are sent again, one after the other. Nothing is sent unless each of them can be sent again.',
        '将逐条重发这些消息。只要有一条不能重发，就全部不发送。',
      ),
      answer: (it) => [
        it.text('id', { mono: true }),
        it.reference('result.channel', channel),
        it.status('result.outcome', outcomeTones, { labels: outcomes }),
        it.text('result.errorMessage'),
      ],
    }),
  ],
}))

const send = adminDetail('getNotificationSendLogsById', (it) => ({
  id: 'notification.send',
  title: text('Sent message', '发送记录'),
  name: 'subject',
  param: 'id',
  live: ['notification_send_log'],
  sections: [
    {
      columns: [
        it.status('status', sendTones, { labels: sendStates }),
        it.reference('channel', channel),
        it.text('provider'),
        it.time('createdAt'),
        it.count('attempt'),
        it.reference('retryOfId', { labels: 'notification.send-log', page: 'notification.send' }),
        it.count('recipientCount', { title: text('Number of recipients', '接收人数') }),
        it.chips('recipients'),
        it.text('template', { mono: true }),
        it.reference(
          'notificationId',
          { labels: 'notification.message', page: 'notification.message' },
          { title: text('Message', '消息') },
        ),
        it.text('messageId', { mono: true }),
        it.text('traceId', { mono: true }),
      ],
    },
    {
      title: text('What the channel said', '渠道返回'),
      columns: [
        it.text('errorMessage'),
        it.text('errorCode', { mono: true }),
        it.text('hint'),
        it.text('providerMessage'),
        it.text('providerCode', { mono: true }),
        it.status('outcome', outcomeTones, { labels: outcomes }),
        it.flag('retryable'),
      ],
    },
  ],
  actions: [
    it.action('postNotificationSendLogsByIdRetry', { label: retry, params: { id: 'id' }, when: { retryable: true } }),
    it.action('postNotificationSendLogsByIdRetry', {
      label: retry,
      params: { id: 'id' },
      when: { status: 'unknown' },
      confirm: maybeTwice,
    }),
  ],
}))

const summary = adminDetail('getNotificationSendLogsSummary', (it) => ({
  id: 'notification.send-summary',
  title: text('Send log in numbers', '发送统计'),
  place: { group: 'messages', order: 20 },
  live: ['notification_send_log'],
  sections: [
    {
      columns: [
        it.count('total'),
        it.count('success'),
        it.count('failed'),
        it.count('failedLast24h'),
        it.count('retryable', { title: text('Can be sent again', '可重发') }),
        it.count('retried'),
        it.count('sending'),
        it.count('unknown'),
        it.count('dead'),
        it.status(
          'counted',
          { exact: 'quiet', capped: 'warn' },
          {
            title: text('Failed of late, counted', '近期失败计数'),
            labels: { exact: text('Exact', '精确'), capped: text('At least so many', '至少') },
          },
        ),
      ],
    },
  ],
  related: [
    {
      page: 'notification.send-log',
      title: text('Failures that can be sent again', '可重发的失败记录'),
      filter: { retryableOnly: { value: true } },
    },
  ],
}))

/** What the back office shows of the send log. */
export const sendPages = [sendLog, send, summary]

export const sendsNeedAttention = [
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.failed',
    title: text('Messages that failed in the last 24 hours', '最近 24 小时发送失败的消息'),
    tone: 'bad',
    count: 'failedLast24h',
    page: { id: 'notification.send-log', filter: { status: 'failed' } },
  }),
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.dead',
    title: text('Messages that were given up', '已放弃发送的消息'),
    tone: 'bad',
    count: 'dead',
    page: { id: 'notification.send-log', filter: { status: 'dead' } },
  }),
  adminAttention('getNotificationSendLogsSummary', {
    id: 'notification.unknown',
    title: text('Messages of which nobody knows whether they were sent', '无法确定是否已发送的消息'),
    tone: 'warn',
    count: 'unknown',
    page: { id: 'notification.send-log', filter: { status: 'unknown' } },
  }),
]

const messages = adminList('getNotifications', (row) => ({
  id: 'notification.messages',
  title: text('Messages', '消息'),
  lead: text('Messages that administrators and the product have sent.', '管理员和系统发送的消息。'),
  place: { group: 'messages', order: 5 },
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
    row.text('senderName'),
    row.status('priority', priorityTones, { labels: priorities, hidden: true }),
    row.time('notBefore', { hidden: true }),
    row.time('finishedAt', { hidden: true }),
    row.text('template', { mono: true, hidden: true }),
  ],
  filters: [{ name: 'state', labels: messageStates }],
  create: adminForm('postNotificationsSend', {
    title: text('Send a message', '发送消息'),
    submit: text('Send', '发送'),
    fields: [
      ...(['channels', 'recipientUserIds', 'subject', 'content', 'template', 'variables', 'locale'] as const),
      ...(['priority', 'notBefore', 'attributes'] as const),
    ],
    options: { channels, recipientUserIds: users },
    long: ['content'],
    preview: adminPreview('postNotificationsTemplatePreview', {
      takes: ['subject', 'content', 'template', 'variables', 'locale'],
      answer: (it) => [it.text('subject'), it.text('content'), it.chips('missingVariables')],
    }),
    answer: (it) => [
      it.reference('channel', channel),
      it.status('outcome', outcomeTones, { labels: outcomes }),
      it.text('errorMessage'),
      it.text('hint'),
    ],
  }),
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
        it.time('createdAt'),
        it.time('notBefore'),
        it.time('finishedAt'),
        it.text('messageId', { mono: true }),
        it.text('traceId', { mono: true }),
      ],
    },
    {
      title: text('What became of it', '发送结果'),
      columns: [
        it.count('outcomes.accepted'),
        it.count('outcomes.rejected'),
        it.count('outcomes.deferred'),
        it.count('outcomes.unknown'),
        it.count('outcomes.skipped'),
      ],
    },
  ],
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

/** What it shows of messages. */
export const messagePages = [messages, message]

const receipts = adminList('getNotificationReadReceipts', (row) => ({
  id: 'notification.receipts',
  title: text('Read receipts', '已读回执'),
  lead: text('Who got messages in the inbox and when they read them.', '收件箱消息的接收人及阅读时间。'),
  place: { group: 'messages', order: 50 },
  key: 'id',
  live: ['notification_inbox_item'],
  columns: [
    row.reference('userId', user, { title: text('Recipient', '接收人') }),
    row.time('readAt'),
    row.text('messageId', { mono: true }),
  ],
  find: ['messageId'],
  filters: ['messageId'],
}))

const attachments = adminList('getNotificationMessageAttachments', (row) => ({
  id: 'notification.attachments',
  title: text('Attachments', '附件'),
  lead: text('Files that came with messages.', '随消息发送的文件。'),
  place: { group: 'messages', order: 60 },
  key: 'id',
  columns: [
    row.text('name'),
    row.text('contentType'),
    row.count('size', { unit: 'bytes' }),
    row.text('disk'),
    row.text('path', { mono: true, hidden: true }),
    row.text('messageId', { mono: true }),
  ],
  find: ['messageId'],
  filters: ['messageId'],
}))

const preferences = adminDetail('getNotificationsPreferences', (it) => ({
  id: 'notification.preferences',
  title: text('My notification preferences', '我的通知偏好'),
  place: { group: 'messages', order: 90 },
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
      title: text('Subjects', '主题'),
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
  ],
  form: it.form('putNotificationsPreferences', {
    title: text('Change', '修改'),
    fields: [
      ...(['databaseEnabled', 'websocketEnabled', 'emailEnabled', 'smsEnabled', 'systemEnabled'] as const),
      ...(['accountEnabled', 'todoEnabled', 'chatEnabled', 'blogEnabled', 'forumEnabled', 'mallEnabled'] as const),
      ...(['marketingEnabled', 'quietHours.start', 'quietHours.end', 'quietHours.timeZone'] as const),
    ],
  }),
}))

const inbox = adminList('getNotificationsInbox', (row) => ({
  id: 'notification.inbox',
  title: text('My inbox', '我的收件箱'),
  lead: text('What the product and its people have told you.', '产品及其他人员发给你的消息。'),
  place: { group: 'messages', order: 5 },
  key: 'id',
  live: ['notification_inbox_item'],
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
      lead: text('No message of your inbox counts as unread any more.', '收件箱中的消息将不再有未读。'),
      submit: text('Mark all', '全部标记'),
      fields: [],
    }),
  ],
  actions: [
    row.action('putNotificationsInboxByIdRead', {
      ...{ label: text('Mark as read', '标为已读'), params: { id: 'id' }, when: { unread: true } },
    }),
    row.action('putNotificationsInboxByIdUnread', {
      ...{ label: text('Mark as unread', '标为未读'), params: { id: 'id' }, when: { unread: false } },
    }),
    row.action('deleteNotificationsInboxById', {
      ...{ label: text('Delete', '删除'), params: { id: 'id' }, tone: 'danger' },
      confirm: text('The message is deleted from your inbox.', '该消息将从你的收件箱中删除。'),
    }),
  ],
  bulk: [
    adminBulk('putNotificationsInboxReadBatch', { label: text('Mark as read', '标为已读'), ids: 'ids' }),
    adminBulk('putNotificationsInboxUnreadBatch', { label: text('Mark as unread', '标为未读'), ids: 'ids' }),
    adminBulk('deleteNotificationsInbox', {
      ...{ label: text('Delete', '删除'), ids: 'ids', tone: 'danger' },
      confirm: text('The messages are deleted from your inbox.', '这些消息将从你的收件箱中删除。'),
    }),
  ],
  empty: text('Nobody has told you anything yet.', '还没有发给你的消息。'),
}))

/** What it shows of inboxes. */
export const inboxPages = [inbox, receipts, attachments, preferences]

/** How many messages the own inbox has that were not read, beside its page. */
export const unreadMessages = adminAttention('getNotificationsInboxUnreadCount', {
  id: 'notification.unread',
  title: text('Unread messages', '未读消息'),
  tone: 'warn',
  count: 'count',
  page: { id: 'notification.inbox' },
  place: 'navigation',
  live: ['notification_inbox_item'],
})

const ruleFields = [
  ...(['enabled', 'thresholdCount', 'thresholdWindow', 'dedupeWindow', 'silenceWindow', 'channels'] as const),
  ...(['recipientUserIds', 'escalation.enabled', 'escalation.after', 'escalation.dedupeWindow'] as const),
  ...(['escalation.channels', 'escalation.recipientUserIds'] as const),
]
const escalated = {
  'escalation.channels': { labels: 'notification.channel', title: text('Channels of the escalation', '升级渠道') },
  'escalation.recipientUserIds': { labels: 'iam.user', title: text('Recipients of the escalation', '升级接收人') },
}
const ruleOptions = { channels, recipientUserIds: users, ...escalated }
const remove = {
  label: text('Delete', '删除'),
  confirm: text('The rule {code} is deleted; its events are sent to nobody.', '规则 {code} 将被删除，其事件不再发送。'),
  tone: 'danger',
} as const

const rules = adminList('getNotificationRules', (row) => ({
  id: 'notification.rules',
  title: text('Notification rules', '通知规则'),
  lead: text('Who is told of which event, and how often.', '哪些事件通知哪些人，以及频率。'),
  place: { group: 'messages', order: 30 },
  key: 'id',
  detail: 'notification.rule',
  live: ['notification_rule'],
  columns: [
    row.text('code', { link: true, mono: true }),
    row.flag('enabled'),
    row.reference('channels', channel),
    row.reference('recipientUserIds', user, { title: text('Recipients', '接收人') }),
    row.count('thresholdCount'),
    row.flag('escalation.enabled', { title: text('Escalates', '升级') }),
    row.text('updatedBy'),
    row.time('updatedAt'),
    row.time('createdAt', { hidden: true }),
  ],
  search: 'keyword',
  filters: ['enabled'],
  sort: 'code',
  create: adminForm('postNotificationRules', {
    title: text('New rule', '新建规则'),
    fields: ['code', ...ruleFields],
    options: ruleOptions,
  }),
  forms: [
    adminForm('postNotificationRulesExport', {
      title: text('Export', '导出'),
      lead: text(
        'A background task writes the rules to a CSV file; fetch it from the list of background tasks.',
        '后台任务会将规则写入 CSV 文件，可在后台任务列表中下载。',
      ),
      submit: text('Export', '导出'),
      fields: ['enabled', 'keyword'],
    }),
  ],
  actions: [
    row.action('postNotificationRulesByIdDisable', {
      label: text('Disable', '停用'),
      params: { id: 'id' },
      body: { version: 'version' },
      when: { enabled: true },
    }),
    row.action('postNotificationRulesByIdEnable', {
      label: text('Enable', '启用'),
      params: { id: 'id' },
      body: { version: 'version' },
      when: { enabled: false },
    }),
    row.action('deleteNotificationRulesById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
  ],
  bulk: [
    adminBulk('deleteNotificationRules', {
      ...{ label: text('Delete', '删除'), ids: 'ids', tone: 'danger' },
      confirm: text('The rules are deleted; their events are sent to nobody.', '这些规则将被删除，其事件不再发送。'),
    }),
  ],
}))

const rule = adminDetail('getNotificationRulesById', (it) => ({
  id: 'notification.rule',
  title: text('Notification rule', '通知规则'),
  name: 'code',
  param: 'id',
  live: ['notification_rule'],
  sections: [
    {
      columns: [
        it.flag('enabled'),
        it.reference('channels', channel),
        it.reference('recipientUserIds', user, { title: text('Recipients', '接收人') }),
        it.count('thresholdCount'),
        it.count('thresholdWindow'),
        it.count('dedupeWindow'),
        it.count('silenceWindow'),
        it.text('updatedBy'),
        it.time('updatedAt'),
        it.time('createdAt'),
      ],
    },
    {
      title: text('Escalation', '升级'),
      columns: [
        it.flag('escalation.enabled'),
        it.count('escalation.after'),
        it.count('escalation.dedupeWindow'),
        it.reference('escalation.channels', channel),
        it.reference('escalation.recipientUserIds', user, { title: text('Recipients', '接收人') }),
      ],
    },
  ],
  form: it.form('putNotificationRulesById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: ruleFields,
    options: ruleOptions,
    version: 'version',
  }),
  actions: [
    it.action('postNotificationRulesByIdDisable', {
      label: text('Disable', '停用'),
      params: { id: 'id' },
      body: { version: 'version' },
      when: { enabled: true },
    }),
    it.action('postNotificationRulesByIdEnable', {
      label: text('Enable', '启用'),
      params: { id: 'id' },
      body: { version: 'version' },
      when: { enabled: false },
    }),
    it.action('deleteNotificationRulesById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
  ],
}))

const templates = adminList('getNotificationRulesTemplates', (row) => ({
  id: 'notification.rule-templates',
  title: text('Rule templates', '规则模板'),
  lead: text(
    'Rules that the product proposes. A rule is made of one by naming who is told.',
    '系统建议的规则，指定接收人即可创建。',
  ),
  place: { group: 'messages', order: 40 },
  key: 'code',
  columns: [
    row.text('displayName'),
    row.text('code', { mono: true }),
    row.text('category'),
    row.flag('published'),
    row.text('subject'),
    row.reference('channels', channel),
    row.count('thresholdCount'),
    row.count('thresholdWindow', { hidden: true }),
    row.count('dedupeWindow', { hidden: true }),
    row.count('silenceWindow', { hidden: true }),
    row.text('content', { hidden: true }),
  ],
  actions: [
    row.action('postNotificationRules', {
      label: text('Make a rule of it', '创建规则'),
      params: {},
      body: {
        ...({ code: 'code', thresholdCount: 'thresholdCount', thresholdWindow: 'thresholdWindow' } as const),
        ...({ dedupeWindow: 'dedupeWindow', silenceWindow: 'silenceWindow', channels: 'channels' } as const),
        escalation: 'escalation',
      },
      ask: ['recipientUserIds'],
      options: { recipientUserIds: users },
    }),
  ],
}))

const opsSummary = adminDetail('getNotificationRulesOpsSummary', (it) => ({
  id: 'notification.rule-summary',
  title: text('Rules in numbers', '规则概况'),
  place: { group: 'messages', order: 45 },
  live: ['notification_rule'],
  sections: [
    { columns: [it.count('total'), it.count('enabled'), it.count('disabled')] },
    {
      title: text('Recipients', '接收人'),
      columns: [
        it.count('recipients.configured'),
        it.count('recipients.missing'),
        it.chips('recipients.enabledMissingCodes'),
        it.chips('silencedRuleCodes'),
      ],
    },
    {
      title: text('Escalation', '升级'),
      columns: [
        it.count('escalation.enabled'),
        it.count('escalation.complete'),
        it.count('escalation.incomplete'),
        it.chips('escalationIncompleteRuleCodes'),
      ],
    },
    {
      title: text('Events with a rule', '已配置规则的事件'),
      columns: [
        it.count('coverage.templates'),
        it.count('coverage.covered'),
        it.count('coverage.missing'),
        it.chips('codesToConfigure'),
        it.chips('codesWithoutSource'),
        it.rows('categories', (row) => [
          row.text('category'),
          row.count('templates'),
          row.count('covered'),
          row.count('missing'),
        ]),
      ],
    },
  ],
}))

/** What it shows of rules. */
export const rulePages = [rules, rule, templates, opsSummary]

export const rulesNeedAttention = [
  adminAttention('getNotificationRulesOpsSummary', {
    id: 'notification.rules-without-recipients',
    title: text('Notification rules that tell nobody', '没有接收人的通知规则'),
    tone: 'warn',
    count: 'recipients.enabledMissingCodes',
    page: { id: 'notification.rule-summary' },
  }),
  adminAttention('getNotificationRulesOpsSummary', {
    id: 'notification.rules-incomplete',
    title: text('Notification rules whose escalation is incomplete', '升级设置不完整的通知规则'),
    tone: 'warn',
    count: 'escalationIncompleteRuleCodes',
    page: { id: 'notification.rule-summary' },
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

/** Sends over time: on the overview all of them, on the page of the send log by channel. */
export const sendCharts = [
  measuredChart({ id: 'notification.sends', title: text('Messages sent', '消息发送'), order: 40, metric, lines }),
  measuredChart({
    id: 'notification.channels',
    title: text('Messages by channel', '各渠道的发送'),
    page: 'notification.send-log',
    order: 10,
    metric,
    by: 'channel',
    lines,
  }),
]
