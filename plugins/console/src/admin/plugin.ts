import { adminPages, attention, http, labelSources, site } from '@plinth/http'
import { identity } from '@plinth/iam'
import { definePlugin, kernel } from '@plinth/kernel'
import { builtPages } from '../contract.ts'
import { messages } from '../failures.ts'
import { adminRoutes } from './admin-routes.ts'
import { PageBook } from './page-book.ts'
import { viewPlugins } from './plugin-facts.ts'

/** The back office in the browser: pages that plugins declare, for those who may see them. */
export default definePlugin({
  id: 'console.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, http, site, identity, builtPages },
  extensionPoints: [adminPages, attention, labelSources],
  permissions: [
    { code: viewPlugins, displayName: { en: 'View the plugins of the product', 'zh-CN': '查看产品的插件' } },
  ],
  messages,
  setup({ services, contributions, roles, log, onReady }) {
    const { kernel, http, site, builtPages } = services
    const book = new PageBook({
      http,
      pages: contributions(adminPages),
      attention: contributions(attention),
      labels: contributions(labelSources),
    })
    http.addRoutes(adminRoutes, { book, site, kernel, http, page: builtPages.page('admin') })
    onReady(async () => {
      if (!roles.has('web')) return
      for (const fault of await book.faults()) log.warn(fault)
    })
  },
})
