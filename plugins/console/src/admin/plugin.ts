import { getCompileCacheDir } from 'node:module'
import { adminPages, amountUnits, attention, charts, labelSources, signInWays, tiles, timelines } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { health, http, metrics } from '@plinth/http'
import { identity } from '@plinth/iam'
import { auditTexts, definePlugin, healthCheck, kernel, optional, personalData, tracing } from '@plinth/kernel'
import { nodeEnvironmentOf } from '@plinth/kernel/host'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { needsAttention, pages, stateTiles } from '../admin-pages.ts'
import { builtPages } from '../contract.ts'
import { consoleError, messages } from '../declarations.ts'
import { createAttention } from '../migrations/0001-create-attention.ts'
import { createViews } from '../migrations/0002-create-views.ts'
import { adminRoutes } from './admin-routes.ts'
import { assertAmountUnits } from './amount-units.ts'
import { AttentionMark, attentionMarkRoutes, attentionTables } from './attention-marks.ts'
import { ChangeFeed } from './change-feed.ts'
import { viewDatabase, viewHealth } from './health-facts.ts'
import { HintStreams } from './hint-streams.ts'
import { MetricHistoryOfAllInstances } from './joined-history.ts'
import { ListExport } from './list-export.ts'
import { ListImport } from './list-import.ts'
import { MetricHistory } from './metric-history.ts'
import { checkPagesAtStart } from './page-check.ts'
import { PageRegistry } from './page-registry.ts'
import { keyLabels, viewPlugins } from './plugin-facts.ts'
import { productStateRoutes, viewMetrics } from './product-state-routes.ts'
import { auditedViews, SharedView, sharedViewRoutes, shareViews, viewTables } from './shared-views.ts'
import { standardLabels } from './standard-labels.ts'

/** Plugin of the back office. It serves the pages that plugins declare to users who may see them. */
export default definePlugin({
  id: 'console.admin',
  title: { en: 'Back office', 'zh-CN': '管理后台' },
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: {
    kernel,
    http,
    health,
    metrics,
    site,
    identity,
    builtPages,
    database,
    sharedStore: optional(sharedStore),
    tracing: optional(tracing),
  },
  extensionPoints: [adminPages, amountUnits, attention, charts, labelSources, signInWays, tiles, timelines],
  contributes: [
    adminPages.of(pages),
    attention.of(needsAttention),
    tiles.of(stateTiles),
    auditTexts.of(auditedViews),
    healthCheck,
    labelSources,
    personalData.of(({ database }: WithDatabase) => ({
      'console.admin': [...attentionTables(database), ...viewTables(database)],
    })),
  ],
  migrations: [createAttention, createViews],
  entities: [AttentionMark, SharedView],
  permissions: [
    { code: viewPlugins, displayName: { en: 'View the plugins of the product', 'zh-CN': '查看产品的插件' } },
    { code: viewMetrics, displayName: { en: 'View charts and metrics', 'zh-CN': '查看图表和指标' } },
    {
      code: viewDatabase,
      displayName: { en: 'View the database and its change sets', 'zh-CN': '查看数据库及其变更集' },
    },
    { code: shareViews, displayName: { en: 'Share views of lists with roles', 'zh-CN': '与角色共享列表视图' } },
    { code: viewHealth, displayName: { en: 'View the health of the product', 'zh-CN': '查看系统健康状况' } },
  ],
  messages,
  setup({ services, contribute, contributions, roles, clock, log, redact, onReady, onDrain, onStop }) {
    const { kernel, http, metrics: registry, site, identity, builtPages, database: db, sharedStore: store } = services
    contribute(labelSources, 'console.config-key', keyLabels(kernel))
    for (const [kind, source] of Object.entries(standardLabels)) contribute(labelSources, kind, source)
    const declared = contributions(charts)
    const history = new MetricHistory({ registry, charts: declared, clock, log })
    const { isProduction } = nodeEnvironmentOf(process.env['NODE_ENV'])
    const stopped = new AbortController()
    onStop(() => stopped.abort())
    const book = new PageRegistry({
      http,
      plugins: kernel.plugins,
      pages: contributions(adminPages),
      attention: contributions(attention),
      charts: declared,
      tiles: contributions(tiles),
      timelines: contributions(timelines),
      audited: kernel.contributions(auditTexts),
      labels: contributions(labelSources),
      signInWays: contributions(signInWays),
      hasMetric: (name) => registry.getSingleMetric(name) !== undefined,
      traceLink: () => services.tracing?.link(),
    })
    const measured = (id: string) => {
      const chart = declared.get(id)
      return chart?.kind === 'measured' ? chart : undefined
    }
    const joined = new MetricHistoryOfAllInstances({ history, store, chartOf: measured, clock, log })
    const feed = new ChangeFeed({ db, store, tell: (tables) => void streams.tell(tables), clock, log })
    const streams = new HintStreams({ book, identity, wanted: () => feed.wanted(), clock, log })
    http.addRoutes(adminRoutes, {
      units: contributions(amountUnits),
      book,
      exports: new ListExport({ http, book }),
      imports: new ListImport({ http, book }),
      db,
      identity,
      streams,
      site,
      page: builtPages.page('admin'),
    })
    http.addRoutes(sharedViewRoutes, { db, clock, kernel, book, identity })
    http.addRoutes(attentionMarkRoutes, { db, clock, book, identity })
    http.addRoutes(productStateRoutes, {
      clock,
      book,
      history: joined,
      kernel,
      http,
      health: services.health,
      redact,
      db,
    })
    if (roles.has('cli')) {
      contribute(healthCheck, 'console.pages', async () => ({
        warnings: (await book.faults()).map((problem) => {
          const { code, message, fix } = consoleError('PLINTH_CONSOLE_PAGE', { problem })
          return `${code}: ${message} ${fix}`
        }),
      }))
    }
    onReady(async () => {
      assertAmountUnits(contributions(adminPages).values())
      await feed.start(book.readers.keys(), roles.has('web') || roles.has('worker'))
      if (!roles.has('web')) return
      void history.run(stopped.signal)
      await joined.start()
      const check = { isProduction, cacheDirectory: getCompileCacheDir(), kernel }
      for (const problem of await checkPagesAtStart(check, () => book.faults())) {
        const { code, message, fix } = consoleError('PLINTH_CONSOLE_PAGE', { problem })
        log.warn({ code, fix }, message)
      }
    })
    onDrain(() => streams.stop())
    onStop(async () => {
      streams.stop()
      await joined.stop()
      await feed.stop()
    })
  },
})
