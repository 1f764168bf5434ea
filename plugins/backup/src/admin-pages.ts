import { adminAttention, adminDetail, adminForm, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = { proven: 'good', running: 'info', stopped: 'warn', failed: 'bad', damaged: 'bad' } as const
const states = {
  proven: text('Proven', '已验证'),
  running: text('Running', '进行中'),
  stopped: text('Not complete', '未完成'),
  failed: text('Failed', '失败'),
  damaged: text('Damaged', '已损坏'),
}
const failures = {
  PLINTH_BACKUP_DATABASE: text('The database could not be copied', '无法复制数据库'),
  PLINTH_BACKUP_TOOL: text('A program of the database is missing or too old', '数据库工具缺失或版本过旧'),
  PLINTH_BACKUP_DUMP: text('A program of the database failed', '数据库工具执行失败'),
  PLINTH_BACKUP_PROOF: text('The restored copy was not equal', '恢复出的副本不一致'),
  PLINTH_BACKUP_CHECKS: text('A check of the product failed on the copy', '副本上的产品检查未通过'),
  PLINTH_BACKUP_DAMAGED: text('The stored bytes were changed', '已存储的字节被改动'),
  PLINTH_BACKUP_FAILED: text('An error of a disk or the system', '磁盘或系统错误'),
  PLINTH_BACKUP_PLACE: text('The place cannot be read', '无法读取存放位置'),
  PLINTH_MIGRATION_LOCKED: text('Change sets were being applied', '正在应用变更集'),
  PLINTH_FILE_ACCESS: text('A file may not be read or written', '没有文件读写权限'),
  PLINTH_UNEXPECTED: text('Unexpected error', '意外错误'),
}
const title = text('Backups', '备份')
const backupTitle = text('Backup', '备份')

const taskLink = { page: 'async-task.task', field: 'taskId' } as const
const verify = {
  label: text('Verify again', '重新校验'),
  confirm: text(
    'A background task reads {{id}} completely and compares all hashes.',
    '后台任务将完整读取 {{id}} 并比对所有哈希。',
  ),
  params: { id: 'id' },
  when: { state: ['proven'] },
  created: taskLink,
} as const

const backups = adminList('getAdminBackups', (row) => ({
  id: 'backup.backups',
  title,
  empty: text('No backups yet.', '尚无备份。'),
  lead: text(
    'Encrypted copies of database, files and settings. A backup is proven after a database was restored from it and was equal.',
    '数据库、文件和设置的加密副本。从备份恢复出的数据库完全一致后，该备份才算已验证。',
  ),
  place: { group: 'product', order: 60 },
  key: 'id',
  detail: 'backup.backup',
  columns: [
    row.time('startedAt', { link: true }),
    row.status('state', tones, { labels: states }),
    row.time('provenAt'),
    row.count('bytes', { unit: 'bytes' }),
    row.count('rows'),
    row.count('files'),
    row.text('failure', { labels: failures }),
    row.count('seconds', { hidden: true }),
    row.text('id', { mono: true, hidden: true }),
  ],
  filters: [{ name: 'state', labels: states }],
  actions: [row.action('postAdminBackupsByIdVerify', verify)],
  create: adminForm('postAdminBackups', {
    title: text('Back up now', '立即备份'),
    lead: text(
      'A background task makes a backup and proves it. The product can be used meanwhile.',
      '后台任务将创建备份并验证，期间产品可正常使用。',
    ),
    submit: text('Start', '开始'),
    fields: [],
    created: taskLink,
  }),
  forms: [
    adminForm('postAdminBackupsPrune', {
      title: text('Delete expired backups', '删除过期备份'),
      lead: text(
        'Deletes the backups that the retention does not keep, and what is left of failed backups. The newest proven backup stays.',
        '删除保留规则之外的备份及失败备份的残留。最新的已验证备份始终保留。',
      ),
      submit: text('Delete', '删除'),
      fields: [],
      created: taskLink,
      tone: 'danger',
    }),
  ],
}))

const backup = adminDetail('getAdminBackupsById', (it) => ({
  id: 'backup.backup',
  title: backupTitle,
  name: 'id',
  param: 'id',
  sections: [
    {
      columns: [
        it.status('state', tones, { labels: states }),
        it.text('failure', { labels: failures }),
        it.time('startedAt'),
        it.time('provenAt'),
        it.count('seconds'),
        it.count('bytes', { unit: 'bytes' }),
        it.count('objects'),
      ],
    },
    {
      title: text('Content', '内容'),
      columns: [
        it.count('rows'),
        it.count('tables'),
        it.count('files'),
        it.count('earlierFailures'),
        it.text('databaseType'),
        it.text('databaseVersion'),
        it.text('product'),
        it.text('productVersion'),
      ],
    },
    {
      title: text('Restore', '恢复'),
      columns: [it.text('restoreCommand', { mono: true }), it.text('recipient', { mono: true })],
    },
  ],
  actions: [it.action('postAdminBackupsByIdVerify', verify)],
}))

export const pages = [backups, backup]

const page = { id: 'backup.backups' }
const unattended = text('A loss of the database loses later data.', '数据库丢失时，此后的数据无法找回。')

export const needsAttention = [
  adminAttention('getAdminBackupsWarnings', {
    id: 'backup.none',
    title: text('There is no proven backup', '没有已验证的备份'),
    tone: 'bad',
    unattended,
    count: 'none',
    page,
  }),
  adminAttention('getAdminBackupsWarnings', {
    id: 'backup.too-old',
    title: text('The newest proven backup is too old', '最新的已验证备份过旧'),
    tone: 'bad',
    unattended,
    count: 'tooOld',
    page,
  }),
  adminAttention('getAdminBackupsWarnings', {
    id: 'backup.failed',
    title: text('The last backup failed', '最近一次备份失败'),
    tone: 'bad',
    unattended,
    count: 'failed',
    page,
  }),
  adminAttention('getAdminBackupsWarnings', {
    id: 'backup.unavailable',
    title: text('The place of the backups cannot be read', '无法读取备份存放位置'),
    tone: 'bad',
    unattended,
    count: 'unavailable',
    page,
  }),
]
