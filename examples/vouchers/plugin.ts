import { defineResourcePlugin, permission, pluginWith } from '@plinth/resource'
import { c, table } from '@plinth/table'
import { createVoucher } from './change-sets.ts'

export const Voucher = table(
  'example_voucher',
  {
    id: c.id(),
    code: c.text(20, { pattern: '^[A-Z0-9-]{4,20}$' }).fixed().title('Code', '券码'),
    note: c.text(100).nullable().title('Note', '备注'),
    holderId: c.user().nullable().title('Holder', '持有人'),
    value: c.amount({ asset: 'CNY' }, { min: 1 }).title('Value', '面额'),
    status: c
      .choice({
        draft: ['Draft', '草稿'],
        active: { title: ['Active', '有效'], tone: 'good' },
        void: { title: ['Void', '作废'], tone: 'bad' },
      })
      .default('draft')
      .readOnly()
      .title('Status', '状态'),
    validUntil: c.time().nullable().title('Valid until', '有效期至'),
    ...c.edits(),
  },
  {
    title: { one: ['Voucher', '代金券'], many: ['Vouchers', '代金券'] },
    owner: 'holderId',
    erasure: { anonymised: { holderId: null }, reason: ['The accounts need the vouchers.', '账目需要保留代金券。'] },
    uniques: [{ columns: ['code'], reason: 'code-taken' }],
    indexes: [
      ['holderId', 'id'],
      ['status', 'id'],
    ],
  },
)

const access = permission('example-vouchers:voucher:manage', 'Manage vouchers', '管理代金券')

const vouchers = pluginWith().resource(Voucher, {
  area: 'vouchers',
  path: '/api/v1/admin/example-vouchers',
  list: { access, filters: ['status', 'holderId'], search: ['code'], sort: ['code'] },
  get: { access },
  create: { access, import: true },
  change: { access },
  remove: { access, bulk: true },
  actions: {
    activate: {
      access,
      title: ['Activate', '启用'],
      set: { status: 'active' },
      when: { status: 'draft' },
      undo: 'withdraw',
    },
    withdraw: {
      access,
      title: ['Withdraw', '撤回'],
      set: { status: 'draft' },
      when: { status: 'active' },
      undo: 'activate',
    },
    cancel: {
      access,
      title: ['Cancel', '作废'],
      confirm: ['{{code}} can no longer be used.', '{{code}} 将不能再使用。'],
      tone: 'danger',
      set: { status: 'void' },
      when: { status: ['draft', 'active'] },
    },
  },
  page: { group: 'orders', order: 930, board: 'status' },
})

/** Vouchers of members: a list that is edited in its cells, imported from CSV files, and shown as a board. */
export default defineResourcePlugin({
  id: 'example.vouchers',
  version: '1.0.0',
  kernel: '^1.0.0',
  migrations: [createVoucher],
  resources: [vouchers],
})
