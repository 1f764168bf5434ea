import { backOffice, labelSources } from '@plinth/admin'
import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, kernel, optional, quickstartCleanup } from '@plinth/kernel'
import { moduleLabels, pages } from './admin-pages.ts'
import { CleanupService } from './cleanup-service.ts'
import { keys } from './config.ts'
import { cleanupAudit } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { routes } from './routes.ts'

/** Removes the demo data of modules after a preview (document 3 of the specification, "Demo-data cleanup"). */
export default definePlugin({
  id: 'quickstart-cleanup',
  title: { en: 'Clean-up', 'zh-CN': '清理' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { kernel, database, http, audit: optional(cleanupAudit) },
  contributes: [...backOffice({ pages }), optional(labelSources)],
  config: keys,
  permissions,
  messages,
  setup({ services, config, log, contribute, onStop }) {
    const cleanups = services.kernel.contributions(quickstartCleanup)
    const service = new CleanupService({
      cleanups,
      database: services.database,
      // Without the plugin `install`, which stores the audit, records are written to the log.
      audit: services.audit ?? {
        record: async (entry) => log.info({ audit: entry }, 'audit of a removal of demo data'),
      },
      clock: services.database.clock,
      log,
      isEnabled: () => config.get('platform.install.quickstart-cleanup.enabled'),
    })
    contribute(labelSources, 'quickstart-cleanup.module', moduleLabels(cleanups))
    services.http.addRoutes(routes, { service })
    onStop(() => service.stop())
  },
})
