import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = { passed: 'good', warning: 'warn', failed: 'bad' } as const
const labels = { passed: text('Passed', '通过'), warning: text('Warning', '警告'), failed: text('Failed', '失败') }
const sessionTones = {
  running: 'info',
  passed: 'good',
  failed: 'bad',
  'restart-required': 'warn',
  interrupted: 'bad',
} as const
const sessionLabels = {
  running: text('Running', '进行中'),
  passed: text('Passed', '成功'),
  failed: text('Failed', '失败'),
  'restart-required': text('Waiting for restart', '等待重启'),
  interrupted: text('Interrupted', '已中断'),
}
const step = { labels: 'install.step' }
const duration = { title: text('Duration', '耗时'), unit: 'ms' } as const
const exported = text('Export to a file', '导出文件')

const status = adminDetail('getAdminInstallDiagnostics', (it) => ({
  id: 'install.status',
  title: text('Installation', '安装状态'),
  place: { group: 'product', order: 30 },
  formerly: ['install.records'],
  sections: [
    {
      columns: [
        it.flag('status.installed'),
        it.flag('status.locked'),
        it.flag('status.installAllowed'),
        it.flag('status.allowReinstall'),
        it.status(
          'status.mode',
          { auto: 'good', forced: 'warn', disabled: 'quiet' },
          {
            labels: { auto: text('Automatic', '自动'), forced: text('Forced', '强制'), disabled: text('Off', '关闭') },
          },
        ),
        it.text('product.name', { title: text('Product', '产品') }),
        it.text('product.version'),
        it.text('product.node'),
      ],
    },
    {
      title: text('Steps', '步骤'),
      columns: [
        it.rows('steps', (row) => [
          row.count('sequence'),
          row.text('name'),
          row.status(
            'status',
            { pending: 'warn', passed: 'good' },
            { labels: { pending: text('Pending', '待完成'), passed: text('Done', '已完成') } },
          ),
          row.text('message'),
        ]),
      ],
    },
    {
      title: text('Environment', '环境检查'),
      columns: [
        it.rows('preflight.checks', (row) => [
          row.status('status', tones, { labels }),
          row.text('message'),
          row.text('fix'),
        ]),
      ],
    },
  ],
  actions: [
    it.action('getAdminInstallDiagnosticsExport', { label: exported, params: {} }),
    it.action('postAdminInstallMigrate', {
      label: text('Migrate the database', '迁移数据库'),
      confirm: text(
        'Applies all pending change sets to the database of this product.',
        '将所有待应用的变更集应用到此产品的数据库。',
      ),
      params: {},
      answer: (done) => [
        done.text('message'),
        done.flag('migrated'),
        done.count('pendingBefore'),
        done.count('applied'),
        done.flag('upToDate'),
      ],
      outcome: { field: 'migrated', good: [true] },
    }),
    it.action('postAdminInstallStateMarkInstalled', {
      label: text('Mark as installed', '标记为已安装'),
      confirm: text(
        'Locks the installer. To confirm, enter MARK-INSTALLED.',
        '安装入口将被锁定。请在确认栏输入 MARK-INSTALLED。',
      ),
      params: {},
      ask: ['confirmation'],
      when: { 'status.installed': false },
      answer: (done) => [done.text('message'), done.flag('marked')],
      outcome: { field: 'marked', good: [true] },
    }),
    it.action('postAdminInstallStateReset', {
      label: text('Reopen the installer', '重新开放安装入口'),
      confirm: text(
        'Anyone who can use the installer can then install the product again. To confirm, enter RESET-INSTALL.',
        '之后，任何能使用安装入口的人都可重新安装此产品。请在确认栏输入 RESET-INSTALL。',
      ),
      params: {},
      ask: ['confirmation'],
      preview: 'dryRun',
      reason: 'required',
      when: { 'status.installed': true },
      tone: 'danger',
      answer: (done) => [
        done.text('message'),
        done.flag('reset'),
        done.flag('entry.installAllowed'),
        done.flag('entry.tokenRequired'),
        done.chips('entry.networks'),
        done.flag('entry.productClosed'),
      ],
    }),
  ],
  related: [
    { page: 'install.sessions', title: text('Installation runs', '安装记录'), filter: {} },
    { page: 'install.audit', title: text('Audit', '审计'), filter: {} },
    { page: 'storage.disks', title: text('Storage', '存储'), filter: {}, optional: true },
    { page: 'quickstart-cleanup.modules', title: text('Demo data', '演示数据'), filter: {}, optional: true },
  ],
}))

const sessions = adminList('getAdminInstallSessions', (row) => ({
  id: 'install.sessions',
  title: text('Installation runs', '安装记录'),
  lead: text('All installation attempts, newest first.', '全部安装尝试，最新的在前。'),
  key: 'id',
  detail: 'install.session',
  live: ['install_session'],
  columns: [
    row.time('startedAt', { link: true }),
    row.status('status', sessionTones, { labels: sessionLabels }),
    row.text('message'),
    row.reference('failedStep', step),
    row.count('durationMs', duration),
    row.text('clientIp'),
  ],
  search: 'keyword',
  filters: [{ name: 'status', labels: sessionLabels }],
  empty: text(
    'No installation attempts: neither the installer nor plinth install was used.',
    '暂无安装尝试：未使用过安装入口或 plinth install 命令。',
  ),
}))

const one = adminDetail('getAdminInstallSessionsBySessionId', (it) => ({
  id: 'install.session',
  title: text('Installation run', '安装过程'),
  name: 'session.startedAt',
  param: 'sessionId',
  live: ['install_session'],
  sections: [
    {
      columns: [
        it.status('session.status', sessionTones, { labels: sessionLabels }),
        it.time('session.startedAt'),
        it.count('session.durationMs', duration),
        it.text('session.message'),
        it.reference('session.failedStep', step),
        it.text('session.clientIp'),
        it.reference('session.retriedSessionId', { labels: 'install.session', page: 'install.session' }),
      ],
    },
  ],
  moments: [
    it.each('records', (row) => ({
      at: 'occurredAt',
      columns: [row.reference('stepCode', step), row.status('status', tones, { labels }), row.text('message')],
    })),
  ],
  actions: [
    it.action('getAdminInstallSessionsBySessionIdExport', { label: exported, params: { sessionId: 'session.id' } }),
  ],
}))

const audit = adminList('getAdminInstallAuditLogs', (row) => ({
  id: 'install.audit',
  title: text('Installation audit', '安装审计'),
  lead: text(
    'All actions in the installer and on this installation, including rejected ones.',
    '安装入口中以及针对此安装的全部操作，包括被拒绝的操作。',
  ),
  key: 'id',
  detail: 'install.audit-entry',
  live: ['install_audit'],
  columns: [
    row.time('occurredAt'),
    row.text('actionName', { link: true }),
    row.status('status', tones, { labels }),
    row.text('operator'),
    row.text('sourceIp'),
    row.reference(
      'sessionId',
      { labels: 'install.session', page: 'install.session' },
      { title: text('Installation run', '安装过程'), hidden: true },
    ),
    row.text('userAgent', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true, trace: true }),
  ],
  search: 'keyword',
  filters: [{ name: 'status', labels }, 'action'],
  empty: text('No actions yet.', '暂无操作。'),
}))

const auditEntry = adminDetail('getAdminInstallAuditLogsById', (it) => ({
  id: 'install.audit-entry',
  title: text('Installation audit', '安装审计'),
  name: 'actionName',
  param: 'id',
  sections: [
    {
      columns: [
        it.time('occurredAt'),
        it.status('status', tones, { labels }),
        it.text('operator'),
        it.text('sourceIp'),
        it.reference(
          'sessionId',
          { labels: 'install.session', page: 'install.session' },
          { title: text('Installation run', '安装过程') },
        ),
        it.text('userAgent'),
        it.text('traceId', { mono: true, trace: true }),
      ],
    },
    {
      title: text('Details', '详情'),
      columns: [
        it.rows('changes', (change) => [
          change.described('subject', { title: text('Fact', '内容') }),
          change.described('after', { title: text('Value', '值') }),
        ]),
      ],
    },
  ],
}))

export const pages = [status, sessions, one, audit, auditEntry]

export const needsAttention = [
  adminAttention('getAdminInstallSteps', {
    id: 'install.steps',
    title: text('Installation steps to complete', '待完成的安装步骤'),
    tone: 'warn',
    unattended: text('The installation is not complete.', '安装尚未完成。'),
    count: 'steps',
    where: { status: 'pending', required: true },
    page: { id: 'install.status' },
  }),
]
