import type { ConfigView } from '@plinth/kernel'
import type { config as keys } from './config.ts'
import type { LimiterSettings } from './limiter.ts'

export interface LiveSettings extends LimiterSettings {
  /** Milliseconds; 0 remembers no denial. */
  readonly denyCacheTtlMs: number
  /** Declared limits count and never deny. */
  readonly shadow: boolean
  /** Also the header fields of the IETF draft. */
  readonly draftHeaders: boolean
}

/** Settings that change while they are used. */
export function liveSettings(
  config: ConfigView<typeof keys>,
  { checkStore, onDeadline }: { checkStore(name: string): void; onDeadline(ms: number): void },
): LiveSettings {
  const settings = {
    enabled: config.get('platform.rate-limit.enabled'),
    defaultStore: config.get('platform.rate-limit.default-store'),
    defaultWindowMs: config.get('platform.rate-limit.default-window'),
    defaultMaxAttempts: config.get('platform.rate-limit.default-max-attempts'),
    keyPrefix: config.get('platform.rate-limit.key-prefix'),
    failurePolicy: config.get('platform.rate-limit.failure-policy'),
    denyCacheTtlMs: config.get('platform.rate-limit.deny-cache.ttl'),
    shadow: config.get('platform.rate-limit.annotation.shadow'),
    draftHeaders: config.get('platform.rate-limit.annotation.draft-headers'),
  }
  config.onChange('platform.rate-limit.enabled', (enabled) => {
    if (enabled) checkStore(settings.defaultStore)
    settings.enabled = enabled
  })
  config.onChange('platform.rate-limit.default-store', (name) => {
    checkStore(name)
    settings.defaultStore = name
  })
  config.onChange('platform.rate-limit.default-window', (windowMs) => {
    settings.defaultWindowMs = windowMs
  })
  config.onChange('platform.rate-limit.default-max-attempts', (maxAttempts) => {
    settings.defaultMaxAttempts = maxAttempts
  })
  config.onChange('platform.rate-limit.failure-policy', (policy) => {
    settings.failurePolicy = policy
  })
  config.onChange('platform.rate-limit.deny-cache.ttl', (ttlMs) => {
    settings.denyCacheTtlMs = ttlMs
  })
  config.onChange('platform.rate-limit.annotation.shadow', (shadow) => {
    settings.shadow = shadow
  })
  config.onChange('platform.rate-limit.store-deadline', onDeadline)
  return settings
}
