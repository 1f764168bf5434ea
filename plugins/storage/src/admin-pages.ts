import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = { ready: 'good', failing: 'bad', disabled: 'quiet' } as const
const labels = {
  ready: text('Ready', '可用'),
  failing: text('Failing', '故障'),
  disabled: text('Switched off', '已停用'),
}
const readers = { public: text('Everybody', '所有人'), private: text('With a signed address', '持签名地址者') }
const readersTitle = text('Who may read', '可读取者')
const faultTitle = text('What is wrong', '故障代码')

const disks = adminList('getAdminStorageDisks', (row) => ({
  id: 'storage.disks',
  title: text('Storage', '存储'),
  lead: text(
    'Where the product keeps files. Each disk was asked just now whether it can be written to.',
    '系统保存文件的位置。打开本页时已逐一检查各磁盘能否写入。',
  ),
  place: { group: 'product', order: 25 },
  key: 'name',
  detail: 'storage.disk',
  columns: [
    row.text('name', { link: true, mono: true }),
    row.status('state', tones, { labels }),
    row.status('visibility', { public: 'info', private: 'quiet' }, { title: readersTitle, labels: readers }),
    row.text('fault', { title: faultTitle, mono: true }),
    row.flag('enabled', { hidden: true }),
  ],
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
        it.text('fault', { title: faultTitle, mono: true }),
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

/** Back office pages of the storage. */
export const pages = [disks, disk]

export const needsAttention = [
  adminAttention('getAdminStorageDisks', {
    id: 'storage.failing',
    title: text('Storage disks that cannot be written to', '无法写入的存储磁盘'),
    tone: 'bad',
    where: { state: 'failing' },
    page: { id: 'storage.disks' },
  }),
]
