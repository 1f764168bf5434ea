import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { count, instant, nullable, routesWith, Type } from '@plinth/http'
import { bilingual as text } from '@plinth/kernel'
import { businessError, permissionCodes } from './declarations.ts'
import { type DiskReport, type DiskReports, diskStates, maxCounted } from './disk-reports.ts'
import { diskName, fileReasons } from './routes.ts'

const tones = { ready: 'good', failing: 'bad', disabled: 'quiet' } as const
const labels = {
  ready: text('Ready', '可用'),
  failing: text('Failing', '故障'),
  disabled: text('Switched off', '已停用'),
}
const readers = { public: text('Everybody', '所有人'), private: text('With a signed address', '持签名地址者') }
/** Names of the disks of the product. Another disk is shown by its name in the configuration. */
const diskNames = { public: text('Public files', '公开文件'), local: text('Private files', '私有文件') }
const readersTitle = text('Who may read', '可读取者')
const problemTitle = text('What is wrong', '故障代码')

const disks = adminList('getAdminStorageDisks', (row) => ({
  id: 'storage.disks',
  title: text('Storage', '存储'),
  empty: text('The product has no disks.', '本产品没有存储盘。'),
  lead: text(
    'Where the product keeps files. Each disk was asked just now whether it can be written to.',
    '系统保存文件的位置。打开本页时已逐一检查各磁盘能否写入。',
  ),
  key: 'name',
  detail: 'storage.disk',
  columns: [
    row.text('name', { link: true, mono: true, labels: diskNames }),
    row.status('state', tones, { labels }),
    row.status('visibility', { public: 'info', private: 'quiet' }, { title: readersTitle, labels: readers }),
    row.text('fault', { title: problemTitle, mono: true }),
    row.flag('enabled', { hidden: true }),
  ],
  filters: [{ name: 'state', labels }],
}))

const disk = adminDetail('getAdminStorageDisksByName', (it) => ({
  id: 'storage.disk',
  title: text('Storage disk', '存储磁盘'),
  name: 'name',
  param: 'name',
  sections: [
    {
      columns: [
        it.status('state', tones, { labels }),
        it.text('fault', { title: problemTitle, mono: true }),
        it.status('visibility', { public: 'info', private: 'quiet' }, { title: readersTitle, labels: readers }),
        it.flag('enabled'),
      ],
    },
    {
      title: text('What it holds', '占用情况'),
      columns: [
        it.count('files', { title: text('Files', '文件数') }),
        it.count('bytes', { title: text('Size', '大小'), unit: 'bytes' }),
        it.time('newestAt', { title: text('Newest file', '最新文件时间') }),
        it.flag('complete', { title: text('All files were counted', '已统计全部文件') }),
      ],
    },
  ],
}))

export const pages = [disks, disk]

export const needsAttention = [
  adminAttention('getAdminStorageDisks', {
    id: 'storage.failing',
    title: text('Storage disks that cannot be written to', '无法写入的存储磁盘'),
    tone: 'bad',
    unattended: text('Files cannot be stored.', '无法保存文件。'),
    where: { state: 'failing' },
    page: { id: 'storage.disks', filter: { state: 'failing' } },
  }),
]

const root = '/api/v1/admin/storage/disks'
/** Scope `all`, because the usage of a disk counts the files of all organisations. */
const access = { permission: permissionCodes.diskView, scope: 'all' } as const

const diskView = {
  name: Type.String(),
  visibility: Type.Enum(['public', 'private'], {
    description: '`public`: all files can be read without authentication.',
  }),
  enabled: Type.Boolean(),
  state: Type.Enum(diskStates, { description: 'True if files can be written now.' }),
  fault: nullable(Type.String(), { description: 'Code of the error, such as `ENOSPC`. The log contains the details.' }),
}

const { route } = routesWith<{ readonly reports: DiskReports }>()

export const adminRoutes = [
  route({
    method: 'GET',
    path: root,
    summary: 'List storage disks and check whether they are writable',
    access,
    request: { query: Type.Object({ state: Type.Optional(diskView.state) }) },
    response: Type.Array(Type.Object(diskView)),
    reasons: [],
    handler: async ({ query }, { reports }) =>
      (await reports.all()).map(viewOf).filter(({ state }) => query.state === undefined || state === query.state),
  }),
  route({
    method: 'GET',
    path: `${root}/:name`,
    summary: 'Get a storage disk with the number and size of its files',
    access,
    request: { params: Type.Object({ name: diskName }) },
    response: Type.Object({
      ...diskView,
      files: { ...count, description: `Number of files, at most ${maxCounted}.` },
      bytes: { ...count, description: 'Total size of the counted files in bytes.' },
      newestAt: nullable(instant, { description: 'Time at which the newest counted file was written.' }),
      complete: Type.Boolean({ description: 'False if the disk has more files than were counted.' }),
    }),
    reasons: fileReasons,
    async handler({ params: { name } }, { reports }) {
      const report = await reports.one(name)
      if (report === undefined) throw businessError('disk-unknown', { params: { disk: name } })
      const { newestAt, ...usage } = await reports.usage(report)
      return { ...viewOf(report), ...usage, newestAt: newestAt?.toISOString() ?? null }
    },
  }),
]

const viewOf = ({ name, visibility, enabled, state, fault }: DiskReport) => ({
  name,
  visibility,
  enabled,
  state,
  fault,
})
