import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { identityResolvers } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { keys, secretKeyName } from './config.ts'
import { idempotency } from './contract.ts'
import { businessError, messages } from './declarations.ts'
import { IdempotencyService } from './idempotency-service.ts'
import { assertRoutesIdempotent, idempotentRoutes } from './idempotent-routes.ts'

/** Executes a request once, even if it is sent several times. */
export default definePlugin({
  id: 'idempotency',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { http, sharedStore, configCentre, identityResolvers },
  provides: [idempotency],
  config: keys,
  configGroups: { idempotency: { en: 'Repeated requests', 'zh-CN': '幂等请求' } },
  messages,
  setup({ plugin: { id: plugin }, services, config, clock, log, provide, onReady }) {
    const { http, sharedStore: store, configCentre: centre, identityResolvers } = services
    const stored = () => config.get(secretKeyName)
    const service = new IdempotencyService({
      store,
      clock,
      log,
      box: new PluginEncryption(new PluginEncryptionKey({ plugin, name: secretKeyName, centre, stored })),
      retentionMs: () => config.get('platform.idempotency.retention'),
      leaseMs: () => config.get('platform.idempotency.lease'),
    })
    provide(idempotency, service)
    http.wrap(idempotentRoutes(service, identityResolvers))
    onReady(() => assertRoutesIdempotent(http.routes))
  },
})
