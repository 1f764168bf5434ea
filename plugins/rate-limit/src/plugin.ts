import { http, metrics } from '@plinth/http'
import { definePlugin, optional, rateLimitStore } from '@plinth/kernel'
import { config } from './config.ts'
import { type IdentityResolver, identityResolvers, rateLimiter } from './contract.ts'
import { rateLimitGuard } from './guard.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { requestCounter } from './request-counter.ts'
import { StoreRateLimiter } from './service.ts'

/** Business-level rate limiting over the stores that other plugins bring, and the limits that routes declare. */
export default definePlugin({
  id: 'rate-limit',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: optional(http), metrics: optional(metrics) },
  provides: [rateLimiter, identityResolvers],
  extensionPoints: [rateLimitStore],
  config,
  messages: { en, 'zh-CN': zhCN },
  setup({ services, config, clock, log, provide, contributions, onStop }) {
    const settings = {
      enabled: config.get('platform.rate-limit.enabled'),
      defaultStore: config.get('platform.rate-limit.default-store'),
      defaultWindowMs: config.get('platform.rate-limit.default-window'),
      defaultMaxAttempts: config.get('platform.rate-limit.default-max-attempts'),
      keyPrefix: config.get('platform.rate-limit.key-prefix'),
      storeDeadlineMs: config.get('platform.rate-limit.store-deadline'),
    }
    const counter = services.metrics === undefined ? undefined : requestCounter(services.metrics)
    if (counter !== undefined) onStop(counter.stop)
    const count = counter?.count ?? (() => {})
    const limiter = new StoreRateLimiter({ stores: contributions(rateLimitStore), settings, clock, log, count })
    if (settings.enabled) limiter.storeNamed(settings.defaultStore)

    config.onChange('platform.rate-limit.enabled', (enabled) => {
      if (enabled) limiter.storeNamed(settings.defaultStore)
      settings.enabled = enabled
    })
    config.onChange('platform.rate-limit.default-store', (name) => {
      limiter.storeNamed(name)
      settings.defaultStore = name
    })
    config.onChange('platform.rate-limit.default-window', (windowMs) => {
      settings.defaultWindowMs = windowMs
    })
    config.onChange('platform.rate-limit.default-max-attempts', (maxAttempts) => {
      settings.defaultMaxAttempts = maxAttempts
    })
    config.onChange('platform.rate-limit.store-deadline', (deadlineMs) => {
      settings.storeDeadlineMs = deadlineMs
    })

    const resolvers: IdentityResolver[] = []
    provide(rateLimiter, limiter)
    provide(identityResolvers, { add: (resolver) => resolvers.push(resolver) })
    if (config.get('platform.rate-limit.annotation.enabled')) {
      const keyPrefix = config.get('platform.rate-limit.annotation.key-prefix')
      services.http?.guard(rateLimitGuard({ limiter, keyPrefix, resolvers }))
    }
  },
})
