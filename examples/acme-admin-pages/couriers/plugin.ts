import { backOffice } from '@plinth/admin'
import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { storage, uploads } from '@plinth/storage'
import { businessError, Courier, createCourier } from './courier.ts'
import { CourierFiles } from './courier-files.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { pages } from './pages.ts'
import { editCouriers, routes } from './routes.ts'

/** Plugin with couriers of ACME. The fields of its form depend on each other and on the depots, and accept files. */
export default definePlugin({
  id: 'acme.couriers',
  title: { en: 'Couriers', 'zh-CN': '快递员' },
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: { database, http, storage, uploads },
  contributes: backOffice({ pages }),
  entities: [Courier],
  migrations: [createCourier],
  messages: { en, 'zh-CN': zhCN },
  permissions: [{ code: editCouriers, displayName: { en: 'Edit couriers', 'zh-CN': '编辑快递员' } }],
  setup({ services }) {
    const files = new CourierFiles(services.storage, services.uploads)
    services.http.addRoutes(routes, { db: services.database, files })
  },
})
