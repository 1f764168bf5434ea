import type { ConfigView } from '@plinth/kernel'
import type { keys } from './config.ts'
import type { LimiterSettings } from './decision.ts'

export interface LiveSettings extends LimiterSettings {
  /** Maximum lifetime of a cached denial in milliseconds; 0: denials are not cached. */
  readonly denyCacheTtlMs: number
  /** Maximum duration of a call of a store, in milliseconds. */
  readonly storeDeadlineMs: number
  /** If true, declared limits count but never deny. */
  readonly shadow: boolean
  /** If true, the header fields of the IETF draft are sent too. */
  readonly draftHeaders: boolean
}

/** Returns settings that follow changes of the configuration. */
export function liveSettings(config: ConfigView<typeof keys>, checkStore: (name: string) => void): LiveSettings {
  const settings = {
    revision: 0,
    enabled: config.get('platform.rate-limit.enabled'),
    defaultStore: config.get('platform.rate-limit.default-store'),
    defaultWindowMs: config.get('platform.rate-limit.default-window'),
    defaultMaxAttempts: config.get('platform.rate-limit.default-max-attempts'),
    keyPrefix: config.get('platform.rate-limit.key-prefix'),
    failurePolicy: config.get('platform.rate-limit.failure-policy'),
    storeDeadlineMs: config.get('platform.rate-limit.store-deadline'),
    denyCacheTtlMs: config.get('platform.rate-limit.deny-cache.ttl'),
    shadow: config.get('platform.rate-limit.annotation.shadow'),
    draftHeaders: config.get('platform.rate-limit.annotation.draft-headers'),
  }
  const change = (changed: Partial<LiveSettings>) =>
    void Object.assign(settings, changed, { revision: settings.revision + 1 })
  config.onChange('platform.rate-limit.enabled', (enabled) => {
    if (enabled) checkStore(settings.defaultStore)
    change({ enabled })
  })
  config.onVerify('platform.rate-limit.default-store', checkStore)
  config.onChange('platform.rate-limit.default-store', (defaultStore) => {
    checkStore(defaultStore)
    change({ defaultStore })
  })
  config.onChange('platform.rate-limit.default-window', (defaultWindowMs) => change({ defaultWindowMs }))
  config.onChange('platform.rate-limit.default-max-attempts', (defaultMaxAttempts) => change({ defaultMaxAttempts }))
  config.onChange('platform.rate-limit.failure-policy', (failurePolicy) => change({ failurePolicy }))
  config.onChange('platform.rate-limit.deny-cache.ttl', (denyCacheTtlMs) => change({ denyCacheTtlMs }))
  config.onChange('platform.rate-limit.annotation.shadow', (shadow) => change({ shadow }))
  config.onChange('platform.rate-limit.store-deadline', (storeDeadlineMs) => change({ storeDeadlineMs }))
  return settings
}
