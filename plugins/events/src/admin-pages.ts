import { adminAttention, adminBulkAction, adminDetail, adminList, adminTile, bulkOutcome } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { eventTitles } from './event-titles.ts'

const tones = { scheduled: 'quiet', pending: 'info', delivered: 'good', failed: 'bad', skipped: 'warn' } as const
const labels = {
  scheduled: text('Scheduled', '已排期'),
  pending: text('Pending', '待投递'),
  delivered: text('Delivered', '已投递'),
  failed: text('Failed', '失败'),
  skipped: text('Skipped', '已跳过'),
}
const unfinished = ['failed', 'pending', 'scheduled'] as const
const replay = {
  label: text('Deliver again', '重新投递'),
  confirm: text(
    'The event {{type}} is delivered again immediately, with all its attempts.',
    '事件 {{type}} 将立即重新投递，重试次数重新计算。',
  ),
  params: { id: 'id' },
  when: { status: unfinished },
} as const
const skip = {
  label: text('Skip', '跳过'),
  confirm: text(
    'The event {{type}} will not be delivered. Later events with the same key continue.',
    '事件 {{type}} 将不再投递，同一键的后续事件继续投递。',
  ),
  params: { id: 'id' },
  when: { status: unfinished },
  tone: 'danger',
} as const

const outbox = adminList('getAdminEventsOutbox', (row) => ({
  id: 'events.outbox',
  title: text('Outbox', '发件箱'),
  lead: text(
    'Events that wait for delivery, and the results of the other events.',
    '等待投递的事件，以及其他事件的投递结果。',
  ),
  place: { group: 'jobs', order: 50 },
  formerly: ['events.backlog'],
  key: 'id',
  detail: 'events.event',
  columns: [
    row.time('createdAt'),
    row.text('type', { link: true, mono: true, labels: eventTitles }),
    row.status('status', tones, { labels }),
    row.text('key', { mono: true }),
    row.count('attempts'),
    row.text('lastError'),
    row.time('nextAt', { hidden: true }),
    row.time('finishedAt', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true, trace: true }),
  ],
  find: ['key', 'traceId'],
  filters: [{ name: 'status', labels }, 'type', 'key', 'traceId'],
  sort: '-createdAt',
  actions: [row.action('postAdminEventsOutboxByIdReplay', replay), row.action('postAdminEventsOutboxByIdSkip', skip)],
  bulk: [
    adminBulkAction('postAdminEventsOutboxReplay', {
      label: text('Deliver failed events again', '重新投递失败的事件'),
      ids: 'ids',
      ...bulkOutcome,
    }),
  ],
  empty: text('The outbox is empty.', '发件箱中没有事件。'),
  live: ['outbox_event'],
}))

const event = adminDetail('getAdminEventsOutboxById', (it) => ({
  id: 'events.event',
  title: text('Event', '事件'),
  name: 'type',
  param: 'id',
  sections: [
    {
      columns: [
        it.status('status', tones, { labels }),
        it.text('type', { mono: true, labels: eventTitles }),
        it.text('key', { mono: true }),
        it.count('attempts'),
        it.time('createdAt'),
        it.time('notBefore'),
        it.time('nextAt'),
        it.time('finishedAt'),
        it.text('lastError'),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    {
      title: text('Completed handlers', '已完成的处理器'),
      columns: [it.rows('deliveries', (row) => [row.text('handler', { mono: true }), row.time('deliveredAt')])],
    },
    { title: text('Content', '内容'), columns: [it.json('payload')] },
  ],
  actions: [it.action('postAdminEventsOutboxByIdReplay', replay), it.action('postAdminEventsOutboxByIdSkip', skip)],
  related: [{ page: 'events.outbox', title: text('Events of this type', '同类型事件'), filter: { type: 'type' } }],
  live: ['outbox_event', 'outbox_delivery'],
}))

export const pages = [outbox, event]

export const outboxTiles = [
  adminTile('getAdminEventsOutboxBacklog', {
    id: 'events.failed',
    page: 'events.outbox',
    title: labels.failed,
    order: 10,
    field: 'counts.failed',
    more: 'bad',
    opens: { id: 'events.outbox', filter: { status: 'failed' } },
  }),
  adminTile('getAdminEventsOutboxBacklog', {
    id: 'events.blocked',
    page: 'events.outbox',
    title: text('Keys that wait for a failed event', '因失败事件而等待的键'),
    order: 20,
    field: 'blockedKeys',
    more: 'bad',
  }),
  adminTile('getAdminEventsOutboxBacklog', {
    id: 'events.pending',
    page: 'events.outbox',
    title: labels.pending,
    order: 30,
    field: 'counts.pending',
    opens: { id: 'events.outbox', filter: { status: 'pending' } },
  }),
  adminTile('getAdminEventsOutboxBacklog', {
    id: 'events.delivered',
    page: 'events.outbox',
    title: labels.delivered,
    order: 40,
    field: 'counts.delivered',
    opens: { id: 'events.outbox', filter: { status: 'delivered' } },
  }),
]

export const needsAttention = [
  adminAttention('getAdminEventsOutboxBacklog', {
    id: 'events.failed',
    title: text('Events that were not delivered', '未能投递的事件'),
    tone: 'bad',
    unattended: text('Handlers do not learn of these events.', '处理器收不到这些事件。'),
    count: 'counts.failed',
    oldest: {
      source: 'getAdminEventsOutbox',
      query: { status: 'failed', sort: 'createdAt', size: 1 },
      at: 'createdAt',
    },
    page: { id: 'events.outbox', filter: { status: 'failed' } },
  }),
  adminAttention('getAdminEventsOutboxBacklog', {
    id: 'events.blocked',
    title: text('Keys blocked by a failed event', '因失败事件而阻塞的键'),
    tone: 'bad',
    unattended: text('Later events of the same object wait.', '同一对象之后的事件会一直等待。'),
    count: 'blockedKeys',
    page: { id: 'events.outbox', filter: { status: 'failed' } },
  }),
]
