import { adminPages, labelSources } from '@plinth/admin'
import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, optional } from '@plinth/kernel'
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
  contributes: [optional(adminPages), optional(labelSources)],
  entities: [Depot],
  migrations: [createDepot],
  messages: { en, 'zh-CN': zhCN },
  permissions: [{ code: editDepots, displayName: { en: 'Edit depots', 'zh-CN': '编辑仓库' } }],
  setup({ services, contribute }) {
    services.http.addRoutes(routes, { db: services.database })
    contribute(labelSources, 'acme.depot', depotLabels(services.database))
    for (const page of [...pages, depotCities]) contribute(adminPages, page.id, page)
  },
})
