import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminFrame } from '@plinth/admin'
import { acme } from './page-group.ts'

const file = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8')

/** A page with its own HTML and script: a bar for each city, and a button for each open depot. */
export const depotCities = adminFrame('getAdminAcmeDepots', {
  id: 'acme.depot-cities',
  title: { en: 'Depots by city', 'zh-CN': '各城市的仓库' },
  lead: { en: 'Open and closed depots in each city.', 'zh-CN': '每个城市营业和停业的仓库。' },
  place: { group: acme, order: 20 },
  html: '<div id="cities"></div><p id="note" role="status"></p>',
  script: file('depot-cities.js'),
  style: file('depot-cities.css'),
  texts: {
    open: { en: 'open', 'zh-CN': '营业' },
    closed: { en: 'closed', 'zh-CN': '停业' },
    close: { en: 'Close', 'zh-CN': '停业' },
    empty: { en: 'No depots yet.', 'zh-CN': '还没有仓库。' },
  },
  writes: [
    {
      operation: 'putAdminAcmeDepotsByIdState',
      label: { en: 'Close a depot', 'zh-CN': '停业仓库' },
      confirm: { en: 'The depot will accept no more parcels.', 'zh-CN': '该仓库将不再接收包裹。' },
      undo: 'getAdminAcmeDepotsById',
      columns: [
        { field: 'id', as: 'reference', of: { labels: 'acme.depot' }, title: { en: 'Depot', 'zh-CN': '仓库' } },
        {
          field: 'state',
          as: 'status',
          tones: { open: 'good', closed: 'quiet' },
          labels: { open: { en: 'Open', 'zh-CN': '营业' }, closed: { en: 'Closed', 'zh-CN': '停业' } },
        },
      ],
    },
  ],
})
