import { defineResourcePlugin, permission, pluginWith } from '@plinth/resource'
import { c, table } from '@plinth/table'
import { createTable } from './change-sets.ts'

const Entry = table(
  'sample_name',
  {
    id: c.id(),
    ownerId: c.caller().title('Author', '作者'),
    name: c.text(80, { min: 1 }).title('Name', '名称'),
    note: c.text(200).default('').title('Note', '备注'),
    ...c.edits(),
  },
  {
    title: { one: ['Entry', '条目'], many: ['Entries', '条目'] },
    owner: 'ownerId',
    erasure: 'removed',
    indexes: [['ownerId', 'id']],
  },
)

const view = permission('sample-name:entry:view', 'View entries', '查看条目')
const edit = permission('sample-name:entry:edit', 'Edit entries', '编辑条目')

const entries = pluginWith().resource(Entry, {
  area: 'sample-name',
  path: '/api/v1/admin/sample-name',
  list: { access: view, search: ['name'] },
  get: { access: view },
  create: { access: edit },
  change: { access: edit },
  remove: { access: edit },
  page: {
    group: { id: 'sample-name', title: { en: 'Sample name', 'zh-CN': 'Sample name' }, icon: 'folder', order: 50 },
    order: 10,
  },
})

/** Stores entries. Users reach the entries in their data scope, by the API and in the back office. */
export default defineResourcePlugin({
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  title: { en: 'Sample name', 'zh-CN': 'Sample name' },
  migrations: [createTable],
  resources: [entries],
})
