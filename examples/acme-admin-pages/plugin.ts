import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { pages } from './admin-pages.ts'
import { businessError, createDepot, Depot } from './depot.ts'
import { depotCities } from './depot-cities.ts'
import { depotLabels } from './depot-labels.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { editDepots, routes } from './routes.ts'

/** Plugin with depots of ACME and their pages in the back office: a list, a detail page, a form, an action and a frame. */
export default definePlugin({
  id: 'acme.depots',
  title: { en: 'Depots', 'zh-CN': '仓库' },
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: { database, http },
  contributes: backOffice({
    pages: [...pages, depotCities],
    labels: ({ database }: WithDatabase) => ({ 'acme.depot': depotLabels(database) }),
  }),
  entities: [Depot],
  migrations: [createDepot],
  messages: { en, 'zh-CN': zhCN },
  permissions: [{ code: editDepots, displayName: { en: 'Edit depots', 'zh-CN': '编辑仓库' } }],
  setup({ services }) {
    services.http.addRoutes(routes, { db: services.database })
  },
})
