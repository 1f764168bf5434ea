import { adminPages, attention, charts } from '@plinth/admin'
import { addressNetwork, http, metrics, usualIpv6Prefix } from '@plinth/http'
import { definePlugin, optional, rateLimitStore } from '@plinth/kernel'
import { limitCharts, needsAttention, pages } from './admin-pages.ts'
import { keys } from './config.ts'
import { type IdentityResolver, identityResolvers, rateLimiter, routeLimits } from './contract.ts'
import { defaultStoreKey, fallbackStoreName } from './decision.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { DenyCache } from './deny-cache.ts'
import { createAddressKeyFunction, identityOf, rateLimitGuard } from './guard.ts'
import { StoreRateLimiter } from './limiter.ts'
import { limiterMetrics, noopCounters, StoreFailureWatch } from './limiter-metrics.ts'
import { operations } from './operations.ts'
import { RouteLimitRegistry } from './route-limits.ts'
import { liveSettings } from './settings.ts'
import { StoreCalls } from './store-calls.ts'

/** Rate limits for plugins and routes, with the stores of other plugins. */
export default definePlugin({
  id: 'rate-limit',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: { http: optional(http), metrics: optional(metrics) },
  provides: [rateLimiter, identityResolvers, routeLimits],
  extensionPoints: [rateLimitStore],
  contributes: [optional(adminPages), optional(attention), optional(charts)],
  config: keys,
  permissions,
  messages,
  setup({ services, config, clock, log, provide, contribute, contributions, onReady, onStop }) {
    const stores = contributions(rateLimitStore)
    const settings = liveSettings(config, (name) => limiter.checkStore(name, defaultStoreKey))
    const calls = new StoreCalls(clock, () => settings.storeDeadlineMs)
    const watch = new StoreFailureWatch({ clock, log, calls, keyPrefix: settings.keyPrefix })
    onStop(() => watch.stop())
    const counter = services.metrics === undefined ? undefined : limiterMetrics(services.metrics)
    if (counter !== undefined) onStop(counter.stop)

    const limiter = new StoreRateLimiter({
      stores,
      settings,
      clock,
      watch,
      counts: counter ?? noopCounters,
      calls,
      denials: new DenyCache(clock, () => settings.denyCacheTtlMs),
      // Without the HTTP server, which declares the configuration key of the prefix length, the default applies.
      addressKey: createAddressKeyFunction(
        services.http?.networkOf ?? ((address) => addressNetwork(address, usualIpv6Prefix)),
      ),
    })
    if (settings.enabled) limiter.checkStore(settings.defaultStore, defaultStoreKey)
    const hasShared = [...stores.values()].some(({ traits }) => traits.shared)
    if (settings.failurePolicy === 'insurance' && hasShared && !stores.has(fallbackStoreName)) {
      const fix = `Add @plinth/rate-limit-stores/memory, or set platform.rate-limit.failure-policy to "open" or "closed".`
      log.warn(
        { store: fallbackStoreName, fix },
        'the fallback store is not loaded: if a shared store fails, all limited requests are rejected',
      )
    }

    const resolvers: IdentityResolver[] = []
    const limits = new RouteLimitRegistry((name) => limiter.checkStore(name))
    provide(rateLimiter, limiter)
    provide(identityResolvers, {
      add: (resolver) => resolvers.push(resolver),
      identityOf: (request) => identityOf(resolvers, request),
    })
    provide(routeLimits, limits)

    const server = services.http
    if (server === undefined) return
    const annotationEnabled = config.get('platform.rate-limit.annotation.enabled')
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const one of needsAttention) contribute(attention, one.id, one)
    if (counter !== undefined) for (const chart of limitCharts) contribute(charts, chart.id, chart)
    server.addRoutes(operations, { stores, settings, annotationEnabled, watch, server })
    if (!annotationEnabled) return
    const keyPrefix = config.get('platform.rate-limit.annotation.key-prefix')
    server.guard(rateLimitGuard({ limiter, limits, settings, keyPrefix, clock, resolvers }))
    onReady(() => limits.checkAll(server.routes))
  },
})
