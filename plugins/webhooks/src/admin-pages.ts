import {
  adminAttention,
  adminDetail,
  adminForm,
  adminList,
  type DetailPageDeclaration,
  type ListPageDeclaration,
  type PageAction,
  type PageColumn,
} from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import type { OutgoingFailure } from '@plinth/outgoing-http'
import { deliveries } from './deliveries.ts'
import { endpoints } from './endpoints.ts'

type Page = ListPageDeclaration | DetailPageDeclaration

const eventTypes = { labels: 'webhooks.event-type' }
const own = { params: { id: { field: 'id' } } }

/** HTTP statuses of errors that receivers and their proxies usually return. */
const statuses = [400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 501, 502, 503, 504, 520, 521, 522, 524]

/** Names of the reasons for which an attempt failed. */
const reasons = {
  aborted: text('Cancelled', '已取消'),
  'address-refused': text('The address is not allowed', '不允许访问该地址'),
  'answer-invalid': text('The response is invalid', '响应无效'),
  'answer-timeout': text('No response in time', '响应超时'),
  'connect-failed': text('The connection failed', '连接失败'),
  'connect-timeout': text('The connection timed out', '连接超时'),
  'connection-lost': text('The connection was lost', '连接中断'),
  'deadline-exceeded': text('The request took too long', '请求超时'),
  gone: text('The receiver is gone (HTTP 410)', '接收方已不存在（HTTP 410）'),
  'host-undeclared': text('The product may not call this host', '产品不可访问该主机'),
  'host-unknown': text('The host is unknown', '主机未知'),
  'port-refused': text('The port is not allowed', '不允许使用该端口'),
  redirect: text('The receiver redirected the request', '接收方重定向了请求'),
  'request-refused': text('The request is invalid', '请求无效'),
  'secret-unusable': text('The secret cannot be read', '无法读取密钥'),
  status: text('The receiver responded with an error', '接收方返回了错误'),
  stopped: text('The product stopped', '产品已停止'),
  throttled: text('The receiver asked for fewer requests', '接收方要求减少请求'),
  'tls-failed': text('The TLS connection failed', 'TLS 连接失败'),
  'url-refused': text('The URL is not allowed', '不允许使用该网址'),
  ...Object.fromEntries(
    statuses.map((status) => [`http-${status}`, text(`HTTP status ${status}`, `HTTP 状态码 ${status}`)]),
  ),
} satisfies Record<OutgoingFailure, unknown> & Record<string, unknown>

const nameOf = (column: PageColumn): PageColumn => {
  const { field, title } = column
  if (field === 'eventType' || field === 'eventTypes')
    return { field, ...(title && { title }), as: 'reference', of: eventTypes }
  return field === 'lastReason' ? { field, ...(title && { title }), as: 'text', labels: reasons } : column
}

/** Columns that a list shows only if the user chooses them, by page. Most rows have none of these values. */
const hidden: Readonly<Record<string, readonly string[]>> = {
  'webhooks.webhook-endpoints':
    'description statusReason statusNote failingSince failedAttempts previousValidUntil createdAt'.split(' '),
  'webhooks.webhook-deliveries': ['finishedAt'],
}
const withHidden =
  (id: string) =>
  (column: PageColumn): PageColumn =>
    hidden[id]?.includes(column.field) ? { ...column, hidden: true } : column

/** Shows event types and reasons by their names. */
const withNames = (page: Page): Page =>
  page.kind === 'list'
    ? { ...page, columns: page.columns.map(nameOf).map(withHidden(page.id)) }
    : {
        ...page,
        sections: page.sections.map(({ columns, ...section }) => ({ ...section, columns: columns.map(nameOf) })),
      }

/** Actions of an endpoint whose routes are written by hand. */
const actions: readonly PageAction[] = [
  {
    ...own,
    operation: 'postAdminWebhooksEndpointsByIdRotateSecret',
    label: text('New secret', '轮换密钥'),
    confirm: text(
      'The secret of {{name}} is replaced. Requests also have a signature of the old secret during the grace period.',
      '{{name}} 的密钥将被替换，宽限期内请求同时带有旧密钥的签名。',
    ),
    body: { version: { field: 'version' } },
    ask: ['graceSeconds', 'force'],
    once: 'secret',
  },
  {
    ...own,
    operation: 'postAdminWebhooksEndpointsByIdRedeliver',
    label: text('Send a range again', '按时间范围重新投递'),
    confirm: text(
      'Failed, held and out-of-scope deliveries of {{name}} in this range are sent again, at most 1,000 at a time.',
      '将重新发送 {{name}} 在此时间范围内失败、已保留和超出数据范围的投递，每次最多 1,000 条。',
    ),
    ask: ['from', 'to'],
    when: { status: ['active', 'failing'] },
  },
]

const pickers = { eventTypes }
/** Adds the parts of an endpoint page that the resource does not declare. */
const withSecrets = (page: Page): Page => {
  const withPicker = <F extends { readonly options?: object }>(form: F) => ({
    ...form,
    options: { ...form.options, ...pickers },
  })
  if (page.kind === 'detail') {
    const related = [
      {
        page: 'webhooks.webhook-deliveries',
        title: text('Deliveries', '投递记录'),
        filter: { endpointId: { field: 'id' } },
      },
    ]
    return {
      ...page,
      ...(page.form && { form: withPicker(page.form) }),
      actions: [...(page.actions ?? []), ...actions],
      related,
    }
  }
  return {
    ...page,
    lead: text(
      'Programs that receive events of the product as signed HTTP requests.',
      '以签名的 HTTP 请求接收产品事件的程序。',
    ),
    create: adminForm('postAdminWebhooksEndpoints', {
      title: text('New endpoint', '新建端点'),
      fields: ['name', 'url', 'description', 'eventTypes', 'ownerId'],
      options: { ...pickers, ownerId: { labels: 'iam.user', title: text('Owner', '所有者') } },
      once: 'secret',
    }),
    ...(page.edit && { edit: withPicker(page.edit) }),
    actions: [...(page.actions ?? []), ...actions],
    links: [{ page: 'webhooks.event-types', label: text('Event types', '事件类型') }],
  }
}

const outcomes = {
  running: text('Running', '进行中'),
  succeeded: text('Succeeded', '成功'),
  failed: text('Failed', '失败'),
  interrupted: text('Interrupted', '已中断'),
}

const delivery = adminDetail('getAdminWebhooksDeliveriesById', (it) => ({
  id: 'webhooks.webhook-delivery',
  title: text('Webhook delivery', 'Webhook 投递'),
  name: 'eventType',
  param: 'id',
  live: ['webhook_delivery'],
  sections: [
    {
      title: text('Attempts', '尝试记录'),
      columns: [
        it.rows('attemptLog', (row) => [
          row.count('number'),
          row.time('startedAt'),
          row.text('outcome', { labels: outcomes }),
          row.count('status', { title: text('HTTP status', 'HTTP 状态') }),
          row.count('durationMs', { title: text('Duration in ms', '耗时（毫秒）') }),
          row.text('reason', { labels: reasons }),
        ]),
      ],
    },
    { title: text('Content', '内容'), columns: [it.json('body')] },
  ],
}))
/** Adds the outcome of a redelivery, and the attempts to the page of a delivery. */
const withAttempts = (listed: Page): Page => {
  const again = (listed.actions ?? []).map((action) => ({ ...action, outcome: { field: 'status', good: ['pending'] } }))
  const traced = <C extends { readonly field: string }>(column: C) =>
    column.field === 'traceId' ? { ...column, mono: true, trace: true, hidden: listed.kind === 'list' } : column
  const page = { ...listed, actions: again }
  if (page.kind === 'list') {
    // The event type is a reference, so the time links to the delivery.
    const linked = (column: PageColumn): PageColumn =>
      column.as === 'time' && column.field === 'createdAt' ? { ...column, link: true } : traced(column)
    return { ...page, columns: page.columns.map(linked), find: ['traceId'] }
  }
  const shown = (page.sections ?? []).map((section) => ({
    ...section,
    columns: section.columns.filter(({ field }) => field !== 'attemptLog' && field !== 'body').map(traced),
  }))
  return { ...page, sections: [...shown, ...(delivery.sections ?? [])] }
}

const types = adminList('getAdminWebhooksEventTypes', (row) => ({
  id: 'webhooks.event-types',
  title: text('Webhook event types', 'Webhook 事件类型'),
  lead: text('Events that plugins offer to webhook endpoints.', '各插件提供给 Webhook 端点的事件。'),
  empty: text('No plugin offers an event.', '没有插件提供事件。'),
  key: 'type',
  columns: [row.text('title'), row.text('type', { mono: true }), row.text('permission', { mono: true })],
}))

export const pages = [
  ...endpoints.pages.map(withSecrets).map(withNames),
  ...deliveries.pages.map(withAttempts).map(withNames),
  types,
]

const endpointsIn = (status: 'failing' | 'suspended', tone: 'warn' | 'bad', title: ReturnType<typeof text>) =>
  adminAttention('getAdminWebhooksEndpoints', {
    id: `webhooks.${status}`,
    title,
    tone,
    unattended: text('The receivers do not learn of events.', '接收方收不到事件。'),
    query: { status, size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'webhooks.webhook-endpoints', filter: { status } },
  })

export const needsAttention = [
  endpointsIn('failing', 'warn', text('Webhook endpoints that fail', '持续失败的 Webhook 端点')),
  endpointsIn('suspended', 'bad', text('Suspended webhook endpoints', '已暂停的 Webhook 端点')),
]
