import { database } from '@plinth/database'
import { adminPages, attention, charts, http, labelSources, metrics, site } from '@plinth/http'
import { identity } from '@plinth/iam'
import { definePlugin, kernel, optional } from '@plinth/kernel'
import { sharedStore } from '@plinth/shared-store'
import { builtPages } from '../contract.ts'
import { messages } from '../failures.ts'
import { adminRoutes, viewMetrics } from './admin-routes.ts'
import { ChangeFeed } from './change-feed.ts'
import { HintStreams } from './hint-streams.ts'
import { MetricHistory } from './metric-history.ts'
import { PageBook } from './page-book.ts'
import { viewPlugins } from './plugin-facts.ts'

/** The back office in the browser: pages that plugins declare, for those who may see them. */
export default definePlugin({
  id: 'console.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, http, metrics, site, identity, builtPages, database, sharedStore: optional(sharedStore) },
  extensionPoints: [adminPages, attention, charts, labelSources],
  permissions: [
    { code: viewPlugins, displayName: { en: 'View the plugins of the product', 'zh-CN': '查看产品的插件' } },
    { code: viewMetrics, displayName: { en: 'View what the product counts', 'zh-CN': '查看产品的统计图表' } },
  ],
  messages,
  setup({ services, contributions, roles, clock, log, onReady, onDrain, onStop }) {
    const { kernel, http, metrics: registry, site, identity, builtPages, database: db, sharedStore: store } = services
    const declared = contributions(charts)
    const history = new MetricHistory({ registry, charts: declared, clock, log })
    const stopped = new AbortController()
    onStop(() => stopped.abort())
    const book = new PageBook({
      http,
      pages: contributions(adminPages),
      attention: contributions(attention),
      charts: declared,
      labels: contributions(labelSources),
      hasMetric: (name) => registry.getSingleMetric(name) !== undefined,
    })
    const feed = new ChangeFeed({ db, store, tell: (tables) => void streams.tell(tables), clock, log })
    const streams = new HintStreams({ book, identity, wanted: () => feed.wanted(), clock, log })
    http.addRoutes(adminRoutes, { book, history, streams, site, kernel, http, page: builtPages.page('admin') })
    onReady(async () => {
      await feed.start(book.readers.keys())
      if (!roles.has('web')) return
      void history.run(stopped.signal)
      for (const fault of await book.faults()) log.warn(fault)
    })
    onDrain(() => streams.stop())
    onStop(async () => {
      streams.stop()
      await feed.stop()
    })
  },
})
