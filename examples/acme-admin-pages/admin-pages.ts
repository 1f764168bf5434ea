import { adminDetail, adminForm, adminList } from '@plinth/admin'
import { acme } from './page-group.ts'

const tones = { open: 'good', closed: 'quiet' } as const
const labels = { open: { en: 'Open', 'zh-CN': '营业' }, closed: { en: 'Closed', 'zh-CN': '停业' } }

const depots = adminList('getAdminAcmeDepots', (row) => ({
  id: 'acme.depots',
  title: { en: 'Depots', 'zh-CN': '仓库' },
  empty: { en: 'No depots yet.', 'zh-CN': '尚无仓库。' },
  place: { group: acme, order: 10 },
  key: 'id',
  detail: 'acme.depot',
  columns: [row.text('name', { link: true }), row.text('city'), row.status('state', tones, { labels })],
  create: adminForm('postAdminAcmeDepots', {
    title: { en: 'New depot', 'zh-CN': '新建仓库' },
    fields: ['name', 'city'],
  }),
  actions: [
    row.action('putAdminAcmeDepotsByIdState', {
      label: { en: 'Close', 'zh-CN': '停业' },
      params: { id: 'id' },
      body: { state: { value: 'closed' } },
      when: { state: 'open' },
      confirm: { en: '{{name}} will accept no more parcels.', 'zh-CN': '{{name}} 将不再接收包裹。' },
    }),
  ],
}))

const depot = adminDetail('getAdminAcmeDepotsById', (it) => ({
  id: 'acme.depot',
  title: { en: 'Depot', 'zh-CN': '仓库' },
  name: 'name',
  param: 'id',
  sections: [{ columns: [it.text('name'), it.text('city'), it.status('state', tones, { labels })] }],
}))

export const pages = [depots, depot]
