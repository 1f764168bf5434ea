import { adminDetail, adminForm, adminList } from '@plinth/admin'

/** The place of the pages in the navigation. Pages of other plugins can be in it too. */
const group = {
  id: 'sample-name',
  title: { en: 'Sample name', 'zh-CN': 'Sample name' },
  icon: 'folder',
  order: 50,
} as const
const tones = { open: 'good', closed: 'quiet' } as const
const labels = { open: { en: 'Open', 'zh-CN': '启用' }, closed: { en: 'Closed', 'zh-CN': '停用' } }

const entries = adminList('getAdminSampleName', (row) => ({
  id: 'sample-name',
  title: { en: 'Sample name', 'zh-CN': 'Sample name' },
  empty: { en: 'No entries yet.', 'zh-CN': '暂无条目。' },
  place: { group, order: 10 },
  key: 'id',
  detail: 'sample-name.entry',
  columns: [row.text('name', { link: true }), row.text('note'), row.status('state', tones, { labels })],
  create: adminForm('postAdminSampleName', {
    title: { en: 'New entry', 'zh-CN': '新建条目' },
    fields: ['name', 'note'],
  }),
  actions: [
    row.action('putAdminSampleNameByIdState', {
      label: { en: 'Close', 'zh-CN': '停用' },
      params: { id: 'id' },
      body: { state: { value: 'closed' } },
      when: { state: 'open' },
      confirm: { en: '{{name}} is closed.', 'zh-CN': '{{name}} 将被停用。' },
    }),
  ],
}))

const entry = adminDetail('getAdminSampleNameById', (it) => ({
  id: 'sample-name.entry',
  title: { en: 'Entry', 'zh-CN': '条目' },
  name: 'name',
  param: 'id',
  sections: [{ columns: [it.text('name'), it.text('note'), it.status('state', tones, { labels })] }],
}))

export const pages = [entries, entry]
