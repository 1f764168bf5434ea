import { adminAttention, adminDetail, adminList, type Operations, type Row } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const change = text('Before and after', '变更前后')
/** Durations are shown in words, and a missing value as the one that applies instead. */
const shown = { format: 'format', fallback: 'fallback' } as const
const tones = { save: 'info', import: 'warn', rollback: 'warn', state: 'quiet' } as const
const labels = {
  save: text('Manual', '手动'),
  import: text('Import', '导入'),
  rollback: text('Rollback', '回退'),
  state: text('Plugin', '插件'),
}
const outcomes = {
  applied: text('Effective immediately', '立即生效'),
  pendingRestart: text('Effective after a restart', '重启后生效'),
  shadowed: text('No effect: a source with higher priority sets this key', '不生效：已由更高优先级的来源设置'),
  rejected: text('Rejected', '被拒绝'),
  unchanged: text('Unchanged', '无变化'),
  unset: text('Secret removed because its destination changed', '密文已移除：其目标已更改'),
  requested: text('Another operator must approve it', '须由另一位操作员审批'),
}
const effectTones = {
  applied: 'good',
  pendingRestart: 'warn',
  shadowed: 'quiet',
  rejected: 'bad',
  unchanged: 'quiet',
  unset: 'warn',
  requested: 'info',
} as const
/** Outcomes of a key in a rollback that is done. */
const accepted = ['applied', 'pendingRestart', 'shadowed', 'unchanged', 'unset', 'requested']
const key = { labels: 'console.config-key', page: 'system-config.centre' }
const user = { labels: 'iam.user', page: 'iam.user' }
const userTitle = text('User', '用户')

/** Effects of a rollback. The page shows them for the preview and for the result. */
const rollbackEffects = (it: Row<Operations['postAdminSystemConfigRollback']['data']>) => [
  it.flag('restartRequired'),
  it.rows('effects', (effect) => [
    effect.reference('key', key),
    effect.status('outcome', effectTones, { labels: outcomes }),
    effect.difference('before', 'after', { title: change, ...shown }),
    effect.text('reason'),
  ]),
  it.rows('errors', (error) => [error.text('field', { mono: true }), error.text('message')]),
]

const history = adminList('getAdminSystemConfigHistory', (row) => ({
  id: 'system-config.history',
  title: text('Change history', '变更历史'),
  lead: text(
    'All changes of configuration values. You can roll back to any version.',
    '配置值的全部变更记录，可回退到任一版本。',
  ),
  place: { group: 'configuration', order: 20 },
  key: 'id',
  detail: 'system-config.change',
  live: ['sys_config_history'],
  columns: [
    row.time('changedAt', { link: true }),
    row.reference('key', key),
    row.difference('before', 'after', { title: change, ...shown }),
    row.text('actor'),
    row.text('reason'),
    row.text('version'),
    row.status('origin', tones, { hidden: true, labels }),
    row.flag('sensitive', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true, trace: true }),
  ],
  filters: [
    { name: 'key', options: { labels: key.labels } },
    { name: 'actorUserId', options: { labels: 'iam.user', title: userTitle } },
    'actor',
    'version',
  ],
  actions: [
    row.action('postAdminSystemConfigRollback', {
      label: text('Undo this change', '撤销此变更'),
      confirm: text(
        '“{{displayTitle}}” gets the value from before this change. Other values do not change.',
        '“{{displayTitle}}”将恢复为此次变更之前的值，其他值不变。',
      ),
      params: {},
      body: { toVersion: 'versionBefore', keys: { list: ['key'] } },
      preview: 'dryRun',
      reason: 'optional',
      answer: rollbackEffects,
      outcome: { field: 'effects.outcome', good: accepted },
      created: { page: 'system-config.request', field: 'requestId' },
    }),
    row.action('postAdminSystemConfigRollback', {
      label: text('Roll back to this version', '回退到此版本'),
      confirm: text(
        'Resets all stored values to their state after version {{version}}. This creates a new version.',
        '全部存储值将恢复为版本 {{version}} 时的内容，并生成新版本。',
      ),
      params: {},
      body: { toVersion: 'version' },
      preview: 'dryRun',
      reason: 'required',
      tone: 'danger',
      answer: rollbackEffects,
      outcome: { field: 'effects.outcome', good: accepted },
      created: { page: 'system-config.request', field: 'requestId' },
    }),
  ],
  empty: text(
    'No changes yet. All values are defaults or come from files and environment variables.',
    '尚无变更。所有值均为默认值，或来自文件和环境变量。',
  ),
}))

const entry = adminDetail('getAdminSystemConfigHistoryById', (it) => ({
  id: 'system-config.change',
  title: text('Change', '变更'),
  name: 'key',
  param: 'id',
  sections: [
    {
      columns: [
        it.text('key', { mono: true }),
        it.time('changedAt'),
        it.text('version'),
        it.status('origin', tones, { labels }),
        it.text('actor'),
        it.reference('actorUserId', user, { title: userTitle }),
        it.text('reason'),
        it.flag('sensitive'),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    { title: change, columns: [it.difference('before', 'after', { title: change, ...shown })] },
  ],
  related: [
    {
      page: 'system-config.history',
      title: text('Changes in the same version', '同一版本的变更'),
      filter: { version: 'version' },
    },
    { page: 'system-config.history', title: text('History of this key', '此配置项的历史'), filter: { key: 'key' } },
  ],
}))

const requestTones = { open: 'warn', applied: 'good', rejected: 'bad', withdrawn: 'quiet', expired: 'quiet' } as const
const requestStates = {
  open: text('Waiting for approval', '待审批'),
  applied: text('Approved and stored', '已批准并保存'),
  rejected: text('Rejected', '已驳回'),
  withdrawn: text('Withdrawn', '已撤回'),
  expired: text('Expired', '已过期'),
}
const requested = text('Requested changes', '申请的变更')

const requests = adminList('getAdminSystemConfigRequests', (row) => ({
  id: 'system-config.requests',
  title: text('Requested changes', '变更申请'),
  lead: text(
    'Changes of configuration keys that another operator must approve before they are stored.',
    '须由另一位操作员批准后才会保存的配置变更。',
  ),
  place: { group: 'configuration', order: 15 },
  key: 'id',
  detail: 'system-config.request',
  live: ['sys_config_request'],
  columns: [
    row.time('createdAt', { link: true }),
    row.reference('keys', key),
    row.status('status', requestTones, { labels: requestStates }),
    row.text('requestedBy'),
    row.text('reason'),
    row.time('expiresAt', { hidden: true }),
    row.text('decidedBy', { hidden: true }),
    row.time('decidedAt', { hidden: true }),
  ],
  filters: ['status'],
  empty: text('No requests yet.', '尚无申请。'),
}))

const oneRequest = adminDetail('getAdminSystemConfigRequestsById', (it) => ({
  id: 'system-config.request',
  title: text('Requested change', '变更申请'),
  name: 'createdAt',
  param: 'id',
  live: ['sys_config_request'],
  sections: [
    {
      columns: [
        it.status('status', requestTones, { labels: requestStates }),
        it.time('createdAt'),
        it.time('expiresAt'),
        it.text('requestedBy'),
        it.flag('isOwn'),
        it.text('reason'),
        it.status('origin', tones, { labels }),
        it.text('decidedBy'),
        it.time('decidedAt'),
        it.text('decisionReason'),
      ],
    },
    {
      title: requested,
      columns: [
        it.rows('changes', (one) => [
          one.reference('key', key),
          one.difference('before', 'after', { title: change, ...shown }),
          one.flag('isOutdated'),
        ]),
      ],
    },
  ],
  actions: [
    it.action('postAdminSystemConfigRequestsByIdApprove', {
      label: text('Approve', '批准'),
      params: { id: 'id' },
      when: { status: 'open', isOwn: false },
      confirm: text('The changes are stored and take effect.', '变更将被保存并生效。'),
      answer: rollbackEffects,
      outcome: { field: 'effects.outcome', good: accepted },
      created: { page: 'system-config.request', field: 'requestId' },
    }),
    it.action('postAdminSystemConfigRequestsByIdReject', {
      label: text('Reject', '驳回'),
      params: { id: 'id' },
      when: { status: 'open', isOwn: false },
      ask: ['reason'],
      tone: 'danger',
    }),
    it.action('postAdminSystemConfigRequestsByIdWithdraw', {
      label: text('Withdraw', '撤回'),
      params: { id: 'id' },
      when: { status: 'open', isOwn: true },
    }),
  ],
}))

/** Pages of the change history. The config centre is a custom page of the console. */
export const pages = [requests, oneRequest, history, entry]

const centre = { id: 'system-config.centre' }

export const needsAttention = [
  adminAttention('getAdminSystemConfigRequests', {
    id: 'system-config.requests',
    title: text('Configuration changes that wait for approval', '待审批的配置变更'),
    tone: 'warn',
    query: { status: 'open', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'system-config.requests', filter: { status: 'open' } },
    live: ['sys_config_request'],
  }),
  adminAttention('getAdminSystemConfigKeys', {
    id: 'system-config.insecure',
    title: text('Values that are not safe in production', '不适合生产环境的配置值'),
    tone: 'warn',
    query: { query: '@insecure' },
    count: 'total',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.refused',
    title: text('Instances that rejected a stored value', '拒绝了存储值的实例'),
    tone: 'bad',
    count: 'items',
    filled: 'refused',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.problems',
    title: text('Instances that run with an invalid value', '使用无效配置值的实例'),
    tone: 'bad',
    count: 'items',
    filled: 'problems',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.pending-restart',
    title: text('Instances that must restart to apply changes', '需重启才能应用变更的实例'),
    tone: 'warn',
    count: 'items',
    filled: 'pendingRestart',
    page: centre,
  }),
]
