import { count, type HttpServer, routesWith, Type, withDescription } from '@plinth/http'
import { fillText, localize, type RateLimitStore } from '@plinth/kernel'
import { formatDuration } from '@plinth/kernel/host'
import type { Static } from 'typebox'
import { fallbackStoreName } from './decision.ts'
import { messages, permissionCodes } from './declarations.ts'
import { draftHeaders, limitHeaders } from './guard.ts'
import type { StoreFailureWatch } from './limiter-metrics.ts'
import type { LiveSettings } from './settings.ts'

interface OperationsDependencies {
  readonly stores: ReadonlyMap<string, RateLimitStore>
  readonly settings: LiveSettings
  readonly annotationEnabled: boolean
  readonly watch: StoreFailureWatch
  readonly server: Pick<HttpServer, 'clientIpRules' | 'hasMetrics'>
}

const view = Type.Object({
  defaultStore: Type.String(),
  defaultWindow: Type.String({ description: 'Duration, such as 1m.' }),
  defaultWindowMs: withDescription(count, 'The same duration in milliseconds.'),
  defaultMaxAttempts: Type.Integer({ description: 'Maximum number of calls per window. 0 or less: unlimited.' }),
  annotationEnabled: Type.Boolean({ description: 'True if rate limits declared by routes apply.' }),
  trustedProxies: Type.Array(Type.String()),
  trustForwardedHeaders: Type.Boolean(),
  clientHeaders: Type.Array(
    Type.String({
      description:
        'Header with the client address that is accepted from trusted proxies. Earlier headers in the list take precedence.',
    }),
  ),
  ipv6Prefix: Type.Integer({ description: 'Length of the IPv6 prefix whose addresses are treated as one caller.' }),
  stores: Type.Array(
    Type.Object({
      name: Type.String(),
      provider: Type.String(),
      shared: Type.Boolean({ description: 'True if all instances share one quota.' }),
      algorithm: Type.String({ description: 'Algorithm: fixed-window, token-bucket or sliding-window.' }),
      available: Type.Boolean({ description: 'False while the store fails and is not used.' }),
    }),
  ),
  responseHeaders: Type.Array(Type.String()),
  metricsAvailable: Type.Boolean(),
  metricName: Type.String(),
  runbookHints: Type.Array(
    Type.String({ description: 'Recommendations for production, in the language of the caller.' }),
  ),
  protectionGaps: Type.Array(
    Type.String({ description: 'Recommendations about settings that allow calls without a limit.' }),
  ),
  settings: Type.Array(Type.String(), { description: 'Configuration keys that the recommendations are about.' }),
})

/** Route of the operations snapshot (document 1 of the specification, "Endpoints"), with the names of decision B19. */
export const operations = [
  routesWith<OperationsDependencies>().route({
    method: 'GET',
    path: '/api/v1/admin/rate-limit/operations',
    summary: 'Get the effective rate limit settings, stores and advice for production',
    access: { permission: permissionCodes.view, scope: 'none' },
    response: view,
    reasons: [],
    handler: ({ locale }, parts) => snapshot(parts, locale),
  }),
]

/** A recommendation with its configuration key; it applies if the first value is true. */
type Advice = readonly [boolean, string, string?]

const applying = (advice: readonly Advice[]) => advice.filter(([applies]) => applies)

function snapshot(
  { stores, settings, annotationEnabled, watch, server }: OperationsDependencies,
  locale: string,
): Static<typeof view> {
  const { clientIpRules, hasMetrics: metricsAvailable } = server
  const { trustedProxies, trustForwardedHeaders, headers, ipv6Prefix } = clientIpRules
  const { defaultStore, defaultWindowMs, defaultMaxAttempts, failurePolicy } = settings
  const failing = [...stores.keys()].filter((name) => watch.isFailing(name))
  const texts = { en: messages.en['rate-limit'].runbook, 'zh-CN': messages['zh-CN']['rate-limit'].runbook }
  const hint = (name: keyof typeof texts.en, values: Readonly<Record<string, string>> = {}) =>
    fillText(localize({ en: texts.en[name], 'zh-CN': texts['zh-CN'][name] }, locale), values)
  const key = 'platform.rate-limit'
  const gaps = applying([
    [!settings.enabled, hint('disabled'), `${key}.enabled`],
    [failurePolicy === 'open', hint('open-policy'), `${key}.failure-policy`],
    [settings.shadow, hint('shadow'), `${key}.annotation.shadow`],
  ])
  const others = applying([
    [failing.length > 0, hint('store-failing', { stores: failing.join(', ') })],
    [
      stores.get(defaultStore)?.traits.shared !== true,
      hint('store-not-shared', { store: defaultStore }),
      `${key}.default-store`,
    ],
    [failurePolicy === 'insurance' && !stores.has(fallbackStoreName), hint('no-insurance')],
    [!metricsAvailable, hint('no-metrics'), 'platform.http.metrics.enabled'],
    [
      trustForwardedHeaders && headers.length > 1,
      hint('client-headers', { headers: headers.join(', ') }),
      `${key}.annotation.client-ip.headers`,
    ],
  ])
  return {
    defaultStore,
    defaultWindow: formatDuration(defaultWindowMs),
    defaultWindowMs,
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
    protectionGaps: gaps.map(([, text]) => text),
    settings: [...gaps, ...others].flatMap(([, , setting]) => setting ?? []),
    runbookHints: [
      ...[...gaps, ...others].map(([, text]) => text),
      ...(['shared-stores', 'trusted-proxies', 'native-429', 'window-edge'] as const).map((name) => hint(name)),
    ],
  }
}
