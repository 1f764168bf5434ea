import { backOffice } from '@plinth/admin'
import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { pages } from './admin-pages.ts'
import { businessError, createTable, Entry } from './entry.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { editEntries, routes, viewEntries } from './routes.ts'

/** Stores entries and shows them in the back office: a list, a detail page, a form and an action. */
export default definePlugin({
  id: 'sample-name',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: { database, http },
  contributes: backOffice({ pages }),
  entities: [Entry],
  migrations: [createTable],
  messages: { en, 'zh-CN': zhCN },
  permissions: [
    { code: viewEntries, displayName: { en: 'View entries', 'zh-CN': '查看条目' } },
    { code: editEntries, displayName: { en: 'Edit entries', 'zh-CN': '编辑条目' } },
  ],
  setup({ services }) {
    services.http.addRoutes(routes, { db: services.database })
  },
})
