import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const change = text('Before and after', '变更前后')
const tones = { save: 'info', import: 'warn', rollback: 'warn', state: 'quiet' } as const
const labels = {
  save: text('By hand', '手动'),
  import: text('Import', '导入'),
  rollback: text('Rollback', '回退'),
  state: text('By a plugin', '插件自身'),
}
const outcomes = {
  applied: text('In force at once', '立即生效'),
  pendingRestart: text('After a restart', '重启后生效'),
  shadowed: text('Without effect: a stronger source gives a value', '不生效：存在更高优先级的来源'),
  rejected: text('Rejected', '被拒绝'),
  unchanged: text('Unchanged', '无变化'),
  unset: text('Secret removed: its destination changes', '密钥已移除：其发送目标已更改'),
}
const effectTones = {
  applied: 'good',
  pendingRestart: 'warn',
  shadowed: 'quiet',
  rejected: 'bad',
  unchanged: 'quiet',
  unset: 'warn',
} as const
const user = { labels: 'iam.user', page: 'iam.user' }
const userTitle = text('User', '用户')

const history = adminList('getAdminSystemConfigHistory', (row) => ({
  id: 'system-config.history',
  title: text('Change history', '变更历史'),
  lead: text('Every change of the configuration, and the way back.', '配置的全部变更记录，可回退到任一版本。'),
  place: { group: 'configuration', order: 20 },
  key: 'id',
  detail: 'system-config.change',
  live: ['sys_config_history'],
  columns: [
    row.time('changedAt'),
    row.text('key', { link: true, mono: true }),
    row.difference('before', 'after', { title: change }),
    row.text('actor'),
    row.text('reason'),
    row.text('version'),
    row.status('origin', tones, { hidden: true, labels }),
    row.flag('sensitive', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true }),
  ],
  filters: ['key', { name: 'actorUserId', options: { labels: 'iam.user', title: userTitle } }, 'actor', 'version'],
  actions: [
    row.action('postAdminSystemConfigRollback', {
      label: text('Go back to this version', '回退到此版本'),
      confirm: text(
        'All stored values become what they were after version {{version}}, as a new version.',
        '全部已存储的值将恢复为版本 {{version}} 时的内容，并生成新版本。',
      ),
      params: {},
      body: { toVersion: 'version' },
      preview: 'dryRun',
      reason: 'required',
      tone: 'danger',
      answer: (it) => [
        it.flag('restartRequired'),
        it.rows('effects', (effect) => [
          effect.text('key', { mono: true }),
          effect.status('outcome', effectTones, { labels: outcomes }),
          effect.difference('before', 'after', { title: change }),
          effect.text('reason'),
        ]),
        it.rows('errors', (error) => [error.text('field', { mono: true }), error.text('message')]),
      ],
    }),
  ],
  empty: text(
    'Nothing was changed yet: every value is as the product came, or as its files say.',
    '尚无变更：所有值均为产品默认值或来自配置文件。',
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
        it.time('changedAt'),
        it.text('version'),
        it.status('origin', tones, { labels }),
        it.text('actor'),
        it.reference('actorUserId', user, { title: userTitle }),
        it.text('reason'),
        it.flag('sensitive'),
        it.text('traceId', { mono: true }),
      ],
    },
    { title: change, columns: [it.difference('before', 'after', { title: change })] },
  ],
  related: [
    {
      page: 'system-config.history',
      title: text('Changed at the same time', '同一次变更'),
      filter: { version: 'version' },
    },
    { page: 'system-config.history', title: text('History of this key', '此配置项的历史'), filter: { key: 'key' } },
  ],
}))

/** Pages of the back office about the configuration, besides the config centre itself. */
export const pages = [history, entry]

const centre = { id: 'system-config.centre' }

export const needsAttention = [
  adminAttention('getAdminSystemConfigKeys', {
    id: 'system-config.insecure',
    title: text('Settings that are not safe in production', '不适合生产环境的配置项'),
    tone: 'warn',
    query: { query: '@insecure' },
    count: 'total',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.refused',
    title: text('Instances that refused a stored value', '拒绝了已存储配置值的实例'),
    tone: 'bad',
    count: 'items',
    filled: 'refused',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.problems',
    title: text('Instances that run with a faulty value', '配置值存在问题的实例'),
    tone: 'bad',
    count: 'items',
    filled: 'problems',
    page: centre,
  }),
  adminAttention('getAdminSystemConfigInstances', {
    id: 'system-config.pending-restart',
    title: text('Instances that must restart for changed values', '需重启才能应用变更的实例'),
    tone: 'warn',
    count: 'items',
    filled: 'pendingRestart',
    page: centre,
  }),
]
