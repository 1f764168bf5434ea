import type { HttpServer } from '@plinth/http'
import { formatDuration, localize, type RateLimitStore } from '@plinth/kernel'
import { type Static, Type } from 'typebox'
import { insuranceStore } from './failover.ts'
import { draftHeaders, limitHeaders } from './limit-headers.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { own } from './permissions.ts'
import type { LiveSettings } from './settings.ts'
import type { StoreWatch } from './store-watch.ts'

export interface OperationsParts {
  readonly stores: ReadonlyMap<string, RateLimitStore>
  readonly settings: LiveSettings
  readonly annotationEnabled: boolean
  readonly watch: StoreWatch
}

const view = Type.Object({
  defaultStore: Type.String(),
  defaultWindow: Type.String({ description: 'Duration, such as 1m.' }),
  defaultMaxAttempts: Type.Integer({ description: '0 or less: unlimited.' }),
  annotationEnabled: Type.Boolean({ description: 'Whether routes may declare limits.' }),
  trustedProxies: Type.Array(Type.String()),
  trustForwardedHeaders: Type.Boolean(),
  clientHeaders: Type.Array(
    Type.String({ description: 'Headers of trusted proxies that are believed, in this order.' }),
  ),
  ipv6Prefix: Type.Integer({ description: 'Leading bits of an IPv6 address that make one caller.' }),
  stores: Type.Array(
    Type.Object({
      name: Type.String(),
      provider: Type.String(),
      shared: Type.Boolean({ description: 'Whether all instances share one quota.' }),
      algorithm: Type.String({ description: 'fixed-window, token-bucket or sliding-window.' }),
      available: Type.Boolean({ description: 'False while the store fails and is not asked.' }),
    }),
  ),
  responseHeaders: Type.Array(Type.String()),
  metricsAvailable: Type.Boolean(),
  metricName: Type.String(),
  runbookHints: Type.Array(
    Type.String({ description: 'What to see to in production, in the language of the caller.' }),
  ),
})

/** Document 1, "Endpoints": the read-only operations snapshot, with the names of decision B19. */
export function addOperations(http: HttpServer, plugin: string, parts: OperationsParts): void {
  http.route(plugin, {
    method: 'GET',
    path: '/api/v1/admin/rate-limit/operations',
    summary: 'Rate limiter: settings in force, stores and hints for production',
    tags: ['rate-limit'],
    access: { permission: own.view },
    response: view,
    handler: ({ locale }) => snapshot(parts, http, locale),
  })
}

function snapshot(
  { stores, settings, annotationEnabled, watch }: OperationsParts,
  { clientIpRules, hasMetrics: metricsAvailable }: HttpServer,
  locale: string,
): Static<typeof view> {
  const { trustedProxies, trustForwardedHeaders, headers, ipv6Prefix } = clientIpRules
  const { defaultStore, defaultWindowMs, defaultMaxAttempts, failurePolicy } = settings
  const failing = [...stores.keys()].filter((name) => watch.isFailing(name))
  const hint = (name: keyof (typeof en)['rate-limit']['runbook'], values: Readonly<Record<string, string>> = {}) =>
    localize({ en: en['rate-limit'].runbook[name], 'zh-CN': zhCN['rate-limit'].runbook[name] }, locale).replace(
      /\{\{(\w+)\}\}/g,
      (_, value: string) => values[value] ?? '',
    )
  const conditional: readonly (readonly [boolean, string])[] = [
    [!settings.enabled, hint('disabled')],
    [failing.length > 0, hint('store-failing', { stores: failing.join(', ') })],
    [stores.get(defaultStore)?.traits.shared !== true, hint('store-not-shared', { store: defaultStore })],
    [failurePolicy === 'insurance' && !stores.has(insuranceStore), hint('no-insurance')],
    [failurePolicy === 'open', hint('open-policy')],
    [settings.shadow, hint('shadow')],
    [!metricsAvailable, hint('no-metrics')],
    [trustForwardedHeaders && headers.length > 1, hint('client-headers', { headers: headers.join(', ') })],
  ]
  return {
    defaultStore,
    defaultWindow: formatDuration(defaultWindowMs),
    defaultMaxAttempts,
    annotationEnabled,
    trustedProxies: [...trustedProxies],
    trustForwardedHeaders,
    clientHeaders: [...headers],
    ipv6Prefix,
    stores: [...stores]
      .map(([name, { traits }]) => ({
        name,
        provider: name,
        shared: traits.shared,
        algorithm: traits.algorithm,
        available: !watch.isFailing(name),
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    responseHeaders: settings.draftHeaders ? [...limitHeaders, ...draftHeaders] : [...limitHeaders],
    metricsAvailable,
    metricName: 'platform.rate.limit.requests',
    runbookHints: [
      ...conditional.filter(([holds]) => holds).map(([, text]) => text),
      ...(['shared-stores', 'trusted-proxies', 'native-429', 'window-edge'] as const).map((name) => hint(name)),
    ],
  }
}
