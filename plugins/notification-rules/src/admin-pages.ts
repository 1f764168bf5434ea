import {
  adminAttention,
  adminBulkAction,
  adminDetail,
  adminForm,
  adminList,
  bulkOutcome,
  createStaticLabelSource,
  type LabelSource,
} from '@plinth/admin'
import type { Translator } from '@plinth/i18n'
import { bilingual as text } from '@plinth/kernel'
import { permissionCodes } from './declarations.ts'
import { templateViews } from './rule-views.ts'

const user = { labels: 'iam.user', page: 'iam.user' }
const channel = { labels: 'notification.channel' }
const users = { labels: 'iam.user', title: text('Recipients', '接收人') }
const channels = { labels: 'notification.channel', title: text('Channels', '渠道') }

const duration = (en: string, zhCN: string) => ({ title: text(en, zhCN), unit: 's' }) as const
const countingWindow = duration('Counting window', '计数窗口')
const dedupeWindow = duration('Deduplication window', '去重窗口')
const silenceWindow = duration('Silence window', '静默窗口')

const event = { labels: 'notification.rule-code' }
/** Modules of the events. */
const categories = {
  'open-platform': text('Open platform', '开放平台'),
  webhooks: text('Webhooks', 'Webhook'),
  backup: text('Backups', '备份'),
  security: text('Security', '安全'),
  queue: text('Queues', '队列'),
  events: text('Events', '事件'),
  compensation: text('Compensation', '补偿'),
  web3: text('On-chain payments', '链上支付'),
  scheduler: text('Schedules', '定时任务'),
  'async-task': text('Background tasks', '后台任务'),
  'content-safety': text('Content safety', '内容安全'),
  install: text('Installation', '安装'),
  mall: text('Mall', '商城'),
  blog: text('Blog', '博客'),
  cms: text('Content', '内容管理'),
  forum: text('Forum', '论坛'),
  'short-link': text('Short links', '短链接'),
  'live-code': text('Live codes', '活码'),
}

/** Names of the events for which a template exists, by their codes. */
export const eventLabels = (i18n: Pick<Translator, 'translate'> | undefined): LabelSource =>
  createStaticLabelSource(
    (locale) =>
      templateViews(i18n, locale, new Set()).map(({ code, displayName }) => ({ id: code, name: displayName })),
    permissionCodes.ruleView,
  )

const ruleFields = [
  'enabled',
  'thresholdCount',
  'thresholdWindow',
  'dedupeWindow',
  'silenceWindow',
  'channels',
  'recipientUserIds',
  'digest',
  'escalation.enabled',
  'escalation.after',
  'escalation.dedupeWindow',
  'escalation.channels',
  'escalation.recipientUserIds',
] as const
const escalated = {
  'escalation.channels': { labels: 'notification.channel', title: text('Escalation channels', '升级渠道') },
  'escalation.recipientUserIds': { labels: 'iam.user', title: text('Escalation recipients', '升级接收人') },
}
const escalation = [
  'escalation.enabled',
  'escalation.after',
  'escalation.dedupeWindow',
  'escalation.channels',
  'escalation.recipientUserIds',
] as const
const sections = [{ title: text('Escalation', '升级'), fields: escalation }]
const ruleOptions = { channels, recipientUserIds: users, ...escalated }
const versioned = { params: { id: 'id' }, body: { version: 'version' } } as const
const disable = {
  ...versioned,
  label: text('Disable', '停用'),
  confirm: text('The rule {{code}} no longer sends messages.', '规则 {{code}} 不再发送消息。'),
  when: { enabled: true },
  leadsTo: false,
  undo: 'postNotificationRulesByIdEnable',
} as const
const enable = {
  ...versioned,
  label: text('Enable', '启用'),
  confirm: text('The rule {{code}} sends messages again.', '规则 {{code}} 恢复发送消息。'),
  when: { enabled: false },
  leadsTo: true,
  undo: 'postNotificationRulesByIdDisable',
} as const
const remove = {
  label: text('Delete', '删除'),
  confirm: text(
    'The rule {{code}} will be deleted. Its events then cause no notifications.',
    '规则 {{code}} 将被删除，其事件不再触发通知。',
  ),
  tone: 'danger',
} as const

const rules = adminList('getNotificationRules', (row) => ({
  id: 'notification.rules',
  title: text('Notification rules', '通知规则'),
  empty: text('No notification rules yet.', '尚无通知规则。'),
  lead: text('Which events are sent to whom, and how often.', '哪些事件通知哪些人，以及频率。'),
  place: { group: 'rules', order: 20 },
  key: 'id',
  detail: 'notification.rule',
  live: ['notification_rule'],
  columns: [
    row.text('code', { link: true, mono: true }),
    row.flag('enabled'),
    row.reference('channels', channel),
    row.reference('recipientUserIds', user, { title: text('Recipients', '接收人') }),
    row.count('thresholdCount'),
    row.flag('escalation.enabled', { title: text('Escalation', '升级') }),
    row.text('updatedBy', { hidden: true }),
    row.time('updatedAt'),
    row.time('createdAt', { hidden: true }),
  ],
  search: 'keyword',
  filters: ['enabled'],
  sort: 'code',
  links: [
    { page: 'notification.rule-templates', label: text('Rule templates', '规则模板') },
    { page: 'notification.rule-summary', label: text('Statistics', '统计') },
  ],
  create: adminForm('postNotificationRules', {
    title: text('New rule', '新建规则'),
    fields: ['code', ...ruleFields],
    sections,
    options: { ...ruleOptions, code: { ...event, title: text('Event', '事件'), free: true } },
  }),
  forms: [
    adminForm('postNotificationRulesExport', {
      title: text('Export', '导出'),
      lead: text(
        'A background task writes the rules to a CSV file. Download the file from the list of background tasks.',
        '后台任务会将规则写入 CSV 文件，可在后台任务列表中下载。',
      ),
      submit: text('Export', '导出'),
      fields: ['enabled', 'keyword'],
      outcome: {
        field: 'status',
        good: ['queued', 'running', 'succeeded'],
        labels: { failed: text('Failed', '失败'), cancelled: text('Cancelled', '已取消') },
      },
      created: { page: 'async-task.task', field: 'id' },
    }),
  ],
  actions: [
    row.action('postNotificationRulesByIdDisable', disable),
    row.action('postNotificationRulesByIdEnable', enable),
    row.action('deleteNotificationRulesById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
  ],
  edit: row.form('putNotificationRulesById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: ['channels', 'recipientUserIds', 'thresholdCount'],
    options: { channels, recipientUserIds: users },
    version: 'version',
  }),
  board: { column: 'enabled', cards: ['channels', 'recipientUserIds'] },
  bulk: [
    adminBulkAction('deleteNotificationRules', {
      label: text('Delete', '删除'),
      ids: 'ids',
      ...bulkOutcome,
      tone: 'danger',
      confirm: text(
        'The rules will be deleted. Their events then cause no notifications.',
        '这些规则将被删除，其事件不再触发通知。',
      ),
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
        it.text('code', { mono: true }),
        it.flag('enabled'),
        it.reference('channels', channel),
        it.reference('recipientUserIds', user, { title: text('Recipients', '接收人') }),
        it.count('thresholdCount'),
        it.count('thresholdWindow', countingWindow),
        it.count('dedupeWindow', dedupeWindow),
        it.count('silenceWindow', silenceWindow),
        it.text('digest', { mono: true }),
        it.text('updatedBy'),
        it.time('updatedAt'),
        it.time('createdAt'),
      ],
    },
    {
      title: text('Escalation', '升级'),
      columns: [
        it.flag('escalation.enabled'),
        it.count('escalation.after', duration('After', '等待')),
        it.count('escalation.dedupeWindow', dedupeWindow),
        it.reference('escalation.channels', channel),
        it.reference('escalation.recipientUserIds', user, { title: text('Recipients', '接收人') }),
      ],
    },
  ],
  form: it.form('putNotificationRulesById', {
    title: text('Change', '修改'),
    params: { id: 'id' },
    fields: ruleFields,
    sections,
    options: ruleOptions,
    version: 'version',
  }),
  actions: [
    it.action('postNotificationRulesByIdDisable', disable),
    it.action('postNotificationRulesByIdEnable', enable),
    it.action('deleteNotificationRulesById', { ...remove, params: { id: 'id' }, query: { version: 'version' } }),
  ],
}))

const templates = adminList('getNotificationRulesTemplates', (row) => ({
  id: 'notification.rule-templates',
  title: text('Rule templates', '规则模板'),
  empty: text('No plugin provides rule templates.', '没有插件提供规则模板。'),
  lead: text(
    'Suggested rules. To create a rule from a template, select its recipients.',
    '建议的规则。选择接收人即可根据模板创建规则。',
  ),
  key: 'code',
  columns: [
    row.text('displayName'),
    row.text('code', { mono: true }),
    row.text('category', { labels: categories }),
    row.flag('published'),
    row.text('subject'),
    row.reference('channels', channel),
    row.count('thresholdCount'),
    row.count('thresholdWindow', { ...countingWindow, hidden: true }),
    row.count('dedupeWindow', { ...dedupeWindow, hidden: true }),
    row.count('silenceWindow', { ...silenceWindow, hidden: true }),
    row.text('content', { hidden: true }),
  ],
  actions: [
    row.action('postNotificationRules', {
      label: text('Create rule', '创建规则'),
      params: {},
      body: {
        code: 'code',
        thresholdCount: 'thresholdCount',
        thresholdWindow: 'thresholdWindow',
        dedupeWindow: 'dedupeWindow',
        silenceWindow: 'silenceWindow',
        channels: 'channels',
        escalation: 'escalation',
      },
      ask: ['recipientUserIds'],
      options: { recipientUserIds: users },
    }),
  ],
}))

const opsSummary = adminDetail('getNotificationRulesOpsSummary', (it) => ({
  id: 'notification.rule-summary',
  title: text('Rule statistics', '规则统计'),
  live: ['notification_rule'],
  sections: [
    { columns: [it.count('total'), it.count('enabled'), it.count('disabled')] },
    {
      title: text('Recipients', '接收人'),
      columns: [
        it.count('recipients.configured'),
        it.count('recipients.missing'),
        it.reference('recipients.enabledMissingCodes', event),
        it.reference('silencedRuleCodes', event),
      ],
    },
    {
      title: text('Escalation', '升级'),
      columns: [
        it.count('escalation.enabled'),
        it.count('escalation.complete'),
        it.count('escalation.incomplete'),
        it.reference('escalationIncompleteRuleCodes', event),
      ],
    },
    {
      title: text('Events with a rule', '已配置规则的事件'),
      columns: [
        it.count('coverage.templates'),
        it.count('coverage.covered'),
        it.count('coverage.missing'),
        it.reference('codesToConfigure', event),
        it.reference('codesWithoutSource', event),
        it.rows('categories', (row) => [
          row.text('category', { labels: categories }),
          row.count('templates'),
          row.count('covered'),
          row.count('missing'),
        ]),
      ],
    },
  ],
}))

export const rulePages = [rules, rule, templates, opsSummary]

export const rulesNeedAttention = [
  adminAttention('getNotificationRulesOpsSummary', {
    id: 'notification.rules-without-recipients',
    title: text('Notification rules without recipients', '没有接收人的通知规则'),
    tone: 'warn',
    unattended: text('These events reach nobody.', '这些事件不会通知任何人。'),
    count: 'recipients.enabledMissingCodes',
    page: { id: 'notification.rule-summary' },
  }),
  adminAttention('getNotificationRulesOpsSummary', {
    id: 'notification.rules-incomplete',
    title: text('Notification rules with an incomplete escalation', '升级设置不完整的通知规则'),
    tone: 'warn',
    unattended: text(
      'If the first recipients do not react, nobody else is told.',
      '首批接收人未响应时，不会再通知其他人。',
    ),
    count: 'escalationIncompleteRuleCodes',
    page: { id: 'notification.rule-summary' },
  }),
]
