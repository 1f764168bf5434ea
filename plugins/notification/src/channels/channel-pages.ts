import { adminAttention, adminDetail, adminList, adminTile, type Operations, type Row } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const states = {
  ready: text('Ready', '可用'),
  failing: text('Failing', '故障'),
  resting: text('Paused', '暂缓使用'),
  limited: text('Rate limit reached', '已达频率上限'),
  incomplete: text('Incomplete', '配置不完整'),
  disabled: text('Disabled', '已停用'),
}
const tones = {
  ready: 'good',
  failing: 'bad',
  resting: 'warn',
  limited: 'info',
  incomplete: 'quiet',
  disabled: 'quiet',
} as const
const checks = {
  configuration: text('Configuration', '配置'),
  address: text('Address', '地址'),
  connection: text('Connection', '连接'),
  credentials: text('Credentials', '凭据'),
}
const checkTones = { configuration: 'bad', address: 'bad', connection: 'bad', credentials: 'bad' } as const
export const outcomes = {
  accepted: text('Accepted', '已接收'),
  rejected: text('Rejected', '已拒绝'),
  deferred: text('Deferred', '已推迟'),
  unknown: text('Unknown', '未知'),
}
export const outcomeTones = { accepted: 'good', rejected: 'bad', deferred: 'info', unknown: 'warn' } as const
const send = { labels: 'notification.send-log', page: 'notification.send' }
const key = { labels: 'console.config-key', page: 'system-config.centre' }

type Channel = Operations['getAdminNotificationChannels']['data'][number]
type TestMember = keyof Operations['postAdminNotificationChannelsByCodeTest']['body'] & string

function actionsOf(row: Row<Channel>) {
  const params = { code: 'code' } as const
  const test = (testField: Channel['testField'], ask: readonly TestMember[] = []) =>
    row.action('postAdminNotificationChannelsByCodeTest', {
      label: text('Send a test message', '发送测试消息'),
      confirm: text(
        'Sends a short test message through {{displayName}} and records it in the send log.',
        '将通过 {{displayName}} 发送一条简短的测试消息，并写入发送记录。',
      ),
      params,
      when: { testField },
      ask,
      options: { userId: { labels: 'iam.user', title: text('User', '用户') } },
      answer: (it) => [
        it.status('outcome', outcomeTones, { labels: outcomes }),
        it.text('reason'),
        it.text('hint'),
        it.text('providerMessage'),
        it.reference('logId', send, { title: text('Send log entry', '发送记录') }),
      ],
      outcome: { field: 'outcome', good: ['accepted'], reason: 'hint' },
      created: { page: 'notification.send', field: 'logId' },
    })
  return [
    row.action('postAdminNotificationChannelsByCodeVerify', {
      label: text('Check', '检查'),
      params,
      confirm: text(
        'Checks whether {{displayName}} can send messages. No message is sent.',
        '将检查 {{displayName}} 能否发送，不会发送任何消息。',
      ),
      answer: (it) => [
        it.flag('verified', { title: text('All checks passed', '检查全部通过') }),
        it.chips('checked', undefined, { labels: checks, title: text('Passed', '已通过') }),
        it.status('failedCheck', checkTones, { labels: checks }),
        it.text('reason'),
        it.text('detail'),
      ],
      outcome: { field: 'verified', good: [true], reason: 'detail' },
    }),
    test('nothing'),
    test('email', ['email']),
    test('mobile', ['mobile']),
    test('userId', ['userId']),
    test('openId', ['accountCode', 'openId']),
    test('receiver', ['receiver']),
  ]
}

const channels = adminList('getAdminNotificationChannels', (row) => ({
  id: 'notification.channels',
  title: text('Channels and providers', '渠道与服务商'),
  empty: text('The product has no channels.', '本产品没有渠道。'),
  lead: text(
    'Channels of messages and their providers, with their state and missing configuration.',
    '消息的发送渠道及其服务商，以及其状态和缺少的配置。',
  ),
  place: { group: 'messages', order: 25 },
  key: 'code',
  detail: 'notification.channel',
  live: ['notification_send_log'],
  columns: [
    row.text('displayName', { link: true }),
    row.status('state', tones, { labels: states }),
    row.reference('missingKeys', key),
    row.text('lastFailureReason'),
    row.time('lastSuccessAt'),
    row.time('lastFailureAt'),
    row.text('code', { mono: true, hidden: true }),
    row.flag('isDefault', { hidden: true }),
    row.flag('enabled', { hidden: true }),
    row.time('failingSince', { hidden: true }),
    row.time('until', { hidden: true }),
    row.text('plugin', { mono: true, hidden: true }),
  ],
  filters: [{ name: 'state', labels: states }],
  actions: actionsOf(row),
}))

const channel = adminDetail('getAdminNotificationChannelsByCode', (it) => ({
  id: 'notification.channel',
  title: text('Channel', '渠道'),
  name: 'displayName',
  param: 'code',
  live: ['notification_send_log'],
  sections: [
    {
      columns: [
        it.status('state', tones, { labels: states }),
        it.time('failingSince'),
        it.time('until'),
        it.flag('enabled'),
        it.flag('isDefault'),
        it.text('code', { mono: true }),
        it.text('plugin', { mono: true }),
        it.flag('verifiable'),
      ],
    },
    {
      title: text('Recent sends', '最近的发送'),
      columns: [
        it.time('lastSuccessAt'),
        it.time('lastFailureAt'),
        it.text('lastFailureReason'),
        it.reference('lastFailureId', send),
      ],
    },
    {
      title: text('Required configuration', '所需配置'),
      columns: [
        it.reference('missingKeys', key),
        it.rows('keys', (one) => [
          one.reference('key', key, { title: text('Fix in config centre', '在配置中心修改') }),
          one.flag('missing'),
        ]),
      ],
    },
  ],
  related: [
    {
      page: 'notification.send-log',
      title: text('Send log of this channel', '该渠道的发送记录'),
      filter: { channel: 'channel' },
    },
  ],
  actions: actionsOf(it as unknown as Row<Channel>),
}))

export const channelPages = [channels, channel]

export const channelsNeedAttention = [
  adminAttention('getAdminNotificationChannels', {
    id: 'notification.channels-failing',
    title: text('Notification channels with failed recent sends', '最近发送失败的通知渠道'),
    tone: 'bad',
    unattended: text('Further messages on this channel fail too.', '此渠道之后的消息也会失败。'),
    where: { state: 'failing' },
    page: { id: 'notification.channels', filter: { state: 'failing' } },
  }),
]

export const channelTiles = [
  adminTile('getAdminNotificationChannels', {
    id: 'notification.channels',
    title: text('Channels', '通知渠道'),
    order: 20,
    field: 'state',
    good: ['ready'],
    // The others are not in use.
    bad: ['failing', 'resting', 'limited'],
    opens: { id: 'notification.channels' },
  }),
]
