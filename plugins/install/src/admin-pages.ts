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
  'restart-required': text('Waits for a restart', '等待重启'),
  interrupted: text('Interrupted', '已中断'),
}
const duration = { title: text('Duration', '耗时'), unit: 'ms' } as const
const exported = text('Save as a file', '导出文件')

const status = adminDetail('getAdminInstallDiagnostics', (it) => ({
  id: 'install.status',
  title: text('Installation', '安装状态'),
  place: { group: 'product', order: 30 },
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
            labels: { auto: text('Automatic', '自动'), forced: text('Always', '强制'), disabled: text('Off', '关闭') },
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
            { labels: { pending: text('To be done', '待完成'), passed: text('Done', '已完成') } },
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
          row.text('code', { mono: true }),
        ]),
      ],
    },
  ],
  actions: [
    it.action('getAdminInstallDiagnosticsExport', { label: exported, params: {} }),
    it.action('postAdminInstallMigrate', {
      label: text('Migrate the database', '迁移数据库'),
      confirm: text(
        'Change sets that are not applied yet are applied to the database on which the product runs.',
        '尚未执行的变更集将应用到当前运行的数据库。',
      ),
      params: {},
      tone: 'danger',
      answer: (done) => [
        done.text('message'),
        done.flag('migrated'),
        done.count('pendingBefore'),
        done.count('applied'),
        done.flag('upToDate'),
      ],
    }),
    it.action('postAdminInstallStateMarkInstalled', {
      label: text('Mark as installed', '标记为已安装'),
      confirm: text(
        'The installation is closed. Enter MARK-INSTALLED as the confirmation.',
        '安装入口将被关闭。请在确认栏输入 MARK-INSTALLED。',
      ),
      params: {},
      ask: ['confirmation'],
      when: { 'status.installed': false },
      answer: (done) => [done.text('message'), done.flag('marked')],
    }),
    it.action('postAdminInstallStateReset', {
      label: text('Open the installation again', '重新开放安装'),
      confirm: text(
        'Whoever reaches the page of the installation can install anew. Enter RESET-INSTALL as the confirmation.',
        '任何能访问安装页面的人都可重新安装。请在确认栏输入 RESET-INSTALL。',
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
}))

const sessions = adminList('getAdminInstallSessions', (row) => ({
  id: 'install.sessions',
  title: text('Installation runs', '安装记录'),
  lead: text('Every attempt to install the product, the newest first.', '每一次安装尝试，最新的在前。'),
  place: { group: 'product', order: 40 },
  key: 'id',
  detail: 'install.session',
  live: ['install_session'],
  columns: [
    row.time('startedAt'),
    row.status('status', sessionTones, { labels: sessionLabels }),
    row.text('message', { link: true }),
    row.text('failedStep', { mono: true }),
    row.count('durationMs', duration),
    row.text('clientIp'),
    row.text('id', { hidden: true, mono: true }),
    row.text('retriedSessionId', { hidden: true, mono: true }),
  ],
  search: 'keyword',
  filters: [{ name: 'status', labels: sessionLabels }],
  empty: text(
    'The product was not installed through its page or its command.',
    '产品未通过安装页面或安装命令进行过安装。',
  ),
}))

const one = adminDetail('getAdminInstallSessionsBySessionId', (it) => ({
  id: 'install.session',
  title: text('Installation run', '安装过程'),
  name: 'session.id',
  param: 'sessionId',
  live: ['install_session'],
  sections: [
    {
      columns: [
        it.status('session.status', sessionTones, { labels: sessionLabels }),
        it.time('session.startedAt'),
        it.count('session.durationMs', duration),
        it.text('session.message'),
        it.text('session.failedStep', { mono: true }),
        it.text('session.clientIp'),
        it.text('session.retriedSessionId', { mono: true }),
      ],
    },
    {
      title: text('Steps', '步骤'),
      columns: [
        it.rows('records', (row) => [
          row.time('occurredAt'),
          row.text('stepCode', { mono: true }),
          row.status('status', tones, { labels }),
          row.text('message'),
        ]),
      ],
    },
  ],
  actions: [
    it.action('getAdminInstallSessionsBySessionIdExport', { label: exported, params: { sessionId: 'session.id' } }),
  ],
}))

const records = adminDetail('getAdminInstallExecutionLogs', (it) => ({
  id: 'install.records',
  title: text('Installation steps', '安装步骤记录'),
  place: { group: 'product', order: 45 },
  sections: [
    {
      columns: [
        it.rows('records', (row) => [
          row.time('occurredAt'),
          row.text('stepCode', { mono: true }),
          row.status('status', tones, { labels }),
          row.text('message'),
          row.text('sessionId', { mono: true }),
        ]),
      ],
    },
  ],
  live: ['install_record'],
}))

const audit = adminList('getAdminInstallAuditLogs', (row) => ({
  id: 'install.audit',
  title: text('Installation audit', '安装审计'),
  lead: text('Who did what to the installation, refused attempts included.', '谁对安装做了什么，包括被拒绝的尝试。'),
  place: { group: 'product', order: 50 },
  key: 'id',
  live: ['install_audit'],
  columns: [
    row.time('occurredAt'),
    row.text('action', { mono: true }),
    row.status('status', tones, { labels }),
    row.text('operator'),
    row.text('sourceIp'),
    row.json('summary'),
    row.text('sessionId', { hidden: true, mono: true }),
    row.text('userAgent', { hidden: true }),
    row.text('traceId', { hidden: true, mono: true }),
  ],
  search: 'keyword',
  filters: [{ name: 'status', labels }, 'action'],
  empty: text('Nothing was done to the installation yet.', '尚无安装相关操作。'),
}))

/** Back office pages of the installation. */
export const pages = [status, sessions, one, records, audit]

export const needsAttention = [
  adminAttention('getAdminInstallSteps', {
    id: 'install.steps',
    title: text('Steps of the installation that are to be done', '尚未完成的安装步骤'),
    tone: 'warn',
    count: 'steps',
    where: { status: 'pending', required: true },
    page: { id: 'install.status' },
  }),
]
