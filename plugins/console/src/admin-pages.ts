import { adminAttention, adminDetail, adminList, adminTile } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = {
  applied: 'good',
  pending: 'info',
  changed: 'bad',
  'data-changed': 'warn',
  unknown: 'warn',
  orphaned: 'quiet',
} as const
const labels = {
  applied: text('Applied', '已应用'),
  pending: text('Pending', '待应用'),
  changed: text('Changed after it was applied', '应用后被修改'),
  'data-changed': text('Data step changed after it was applied', '数据步骤应用后被修改'),
  unknown: text('Applied by another version', '由其他版本应用'),
  orphaned: text('Plugin not loaded', '所属插件未加载'),
}

const database = adminDetail('getAdminConsoleDatabase', (it) => ({
  id: 'console.database',
  title: text('Database', '数据库'),
  place: { group: 'product', order: 20 },
  sections: [
    {
      columns: [
        it.text('product'),
        it.text('version', { mono: true }),
        it.count('waitSeconds', { title: text('Longest current wait', '当前最长等待'), unit: 's' }),
        it.count('applied', { title: text('Change sets applied', '已应用变更集') }),
        it.count('pending', { title: text('Change sets pending', '待应用变更集') }),
        it.text('migratingHost', { title: text('Migrating host', '正在迁移的主机'), mono: true }),
      ],
    },
    {
      title: text('Change sets', '变更集'),
      columns: [
        it.rows('changeSets', (set) => [
          set.text('plugin', { mono: true }),
          set.text('changeSet', { title: text('Change set', '变更集'), mono: true }),
          set.status('state', tones, { labels }),
          set.time('appliedAt', { title: text('Applied', '应用时间') }),
          set.count('durationMs', { unit: 'ms' }),
          set.text('breaking', { title: text('Reason for the breaking change', '破坏性变更理由') }),
        ]),
      ],
    },
  ],
}))

const healthOutcomes = {
  passed: text('Passed', '通过'),
  warning: text('Warning', '警告'),
  failed: text('Failed', '失败'),
}

/** Names of the checks of the product. The check of another plugin is shown by its name in the code. */
const healthChecks = {
  'console.pages': text('Pages of the back office', '后台页面'),
  database: text('Database', '数据库'),
  'database.change-sets': text('Change sets of the database', '数据库变更集'),
  'http.port': text('Port of the server', '服务器端口'),
  'http.schemas': text('Schemas of the API', 'API 模式'),
  install: text('Installation', '安装'),
  redis: text('Redis cache', 'Redis 缓存'),
  scheduler: text('Scheduled tasks', '定时任务'),
  storage: text('Storage', '存储'),
  'system-config.master-key': text('Master key', '主密钥'),
}

const health = adminList('getAdminConsoleHealth', (row) => ({
  id: 'console.health',
  title: text('Health', '健康状况'),
  empty: text('The product has no health checks.', '本产品没有健康检查项。'),
  lead: text(
    'Health checks of this instance. A load balancer sends it no requests while a check fails.',
    '当前实例的健康检查。任一检查失败时，负载均衡器不会向其分发请求。',
  ),
  place: { group: 'product', order: 15 },
  key: 'name',
  live: true,
  columns: [
    row.text('name', { mono: true, title: text('Check', '检查项'), labels: healthChecks }),
    row.status('outcome', { passed: 'good', warning: 'warn', failed: 'bad' }, { labels: healthOutcomes }),
    row.text('reason'),
  ],
  filters: [{ name: 'outcome', labels: healthOutcomes }],
}))

/** Pages that the console declares as data, in the same way as other plugins. */
export const pages = [database, health]

export const stateTiles = [
  adminTile('getAdminConsoleHealth', {
    id: 'console.health',
    title: text('Health checks', '健康检查'),
    order: 10,
    field: 'outcome',
    good: ['passed', 'warning'],
    opens: { id: 'console.health' },
  }),
]

export const needsAttention = [
  adminAttention('getAdminConsoleHealth', {
    id: 'console.health',
    title: text('Failed health checks', '未通过的健康检查'),
    tone: 'bad',
    unattended: text(
      'A load balancer may stop sending requests to this instance.',
      '负载均衡器可能停止向此实例分发请求。',
    ),
    where: { outcome: 'failed' },
    page: { id: 'console.health', filter: { outcome: 'failed' } },
  }),
  adminAttention('getAdminConsoleDatabase', {
    id: 'console.migrations-changed',
    title: text('Change sets that changed after they were applied', '应用后被修改的变更集'),
    tone: 'bad',
    unattended: text('The database may differ from the code.', '数据库可能与代码不一致。'),
    count: 'changeSets',
    where: { state: 'changed' },
    page: { id: 'console.database' },
  }),
  adminAttention('getAdminConsoleDatabase', {
    id: 'console.migrations-pending',
    title: text('Pending change sets: run plinth migrate', '待应用的变更集：请执行 plinth migrate'),
    tone: 'warn',
    unattended: text('New functions may fail.', '新功能可能失败。'),
    count: 'changeSets',
    where: { state: 'pending' },
    page: { id: 'console.database' },
  }),
]
