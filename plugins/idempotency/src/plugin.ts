import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, kernel } from '@plinth/kernel'
import { nodeEnvironmentOf } from '@plinth/kernel/host'
import { identityResolvers } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { Claims } from './claims.ts'
import { keys, secretKeyName } from './config.ts'
import { idempotency } from './contract.ts'
import { businessError, messages } from './declarations.ts'
import { CallRow } from './entities.ts'
import { IdempotencyService } from './idempotency-service.ts'
import { assertRoutesIdempotent, idempotentRoutes, unclaimedRoutes } from './idempotent-routes.ts'
import { createCall } from './migrations/0001-create-call.ts'
import { purgeCalls } from './tasks.ts'

/** Executes a request once, even if it is sent several times. */
export default definePlugin({
  id: 'idempotency',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { kernel, http, database, sharedStore, configCentre, identityResolvers },
  provides: [idempotency],
  config: keys,
  configGroups: { idempotency: { en: 'Repeated requests', 'zh-CN': '幂等请求' } },
  migrations: [createCall],
  entities: [CallRow],
  scheduledTasks: [purgeCalls],
  messages,
  setup({ plugin: { id: plugin }, services, config, clock, log, provide, onReady }) {
    const { kernel, http, database: db, sharedStore: store, configCentre: centre, identityResolvers } = services
    const retentionMs = () => config.get('platform.idempotency.retention')
    const stored = () => config.get(secretKeyName)
    const service = new IdempotencyService({
      store,
      clock,
      log,
      box: new PluginEncryption(new PluginEncryptionKey({ plugin, name: secretKeyName, centre, stored })),
      claims: new Claims({ db, retentionMs }),
      retentionMs,
      leaseMs: () => config.get('platform.idempotency.lease'),
    })
    provide(idempotency, service)
    const { isProduction } = nodeEnvironmentOf(process.env['NODE_ENV'])
    const onUnclaimed = unclaimedRoutes(kernel, log, isProduction)
    http.wrap(idempotentRoutes({ idempotency: service, callers: identityResolvers, onUnclaimed }))
    onReady(() => assertRoutesIdempotent(http.routes))
  },
})
