import type { Database } from '@plinth/database'
import { type Health, type HttpServer, instant, line, nullable, routesWith, Type, text } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import type { Clock, Kernel } from '@plinth/kernel'
import { attentionMarks } from './attention-marks.ts'
import {
  databaseFactsView,
  healthFactsView,
  healthOutcome,
  readDatabaseState,
  viewDatabase,
  viewHealth,
  viewOfHealth,
} from './health-facts.ts'
import { addUpSteps, type MetricHistoryOfAllInstances } from './joined-history.ts'
import { spans } from './metric-history.ts'
import { metricChartOperation } from './overview.ts'
import type { PageRegistry } from './page-registry.ts'
import { word } from './page-registry.ts'
import { pluginFactsView, viewOfPlugins, viewPlugins } from './plugin-facts.ts'

interface ProductStateRouteDependencies {
  readonly book: PageRegistry
  readonly history: Pick<MetricHistoryOfAllInstances, 'instance' | 'steps'>
  readonly kernel: Kernel
  readonly http: Pick<HttpServer, 'routes'>
  readonly health: Health
  /** Masks the secrets in a text. */
  readonly redact: (text: string) => string
  readonly db: Pick<Database, 'server' | 'migrationStatus' | 'longestWaitSeconds' | 'fork'>
  readonly clock: Pick<Clock, 'now'>
}

/** Permission to read the metrics of the product. */
export const viewMetrics = 'console:metrics:view'

const momentOf = (ms: number) => new Date(ms).toISOString()

const { route } = routesWith<ProductStateRouteDependencies>()

/** Routes that report the state of the product: what needs attention, charts, plugins, health and the database. */
export const productStateRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/console/attention',
    operationId: 'getConsoleAttention',
    summary: 'List items that may need attention, with the operations that count them',
    access: 'user',
    response: Type.Object({
      items: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'Returns those about money first, then the most severe: title, tone, operation, the counted member of its response, the page where an operator fixes the problem, what happens if nobody acts, `mayDecide`: whether the caller sees all cases, and `mark`: whether it is done, snoozed or assigned. Null for a caller who does not see all cases.',
      }),
    }),
    reasons: [],
    async handler(request, { book, db, clock }) {
      const [seen, marks] = await Promise.all([
        book.attention(requirePrincipal(request), request.locale),
        attentionMarks({ db, clock }),
      ])
      return { items: seen.map((one) => ({ ...one, mark: (one.mayDecide && marks.get(one.id)) || null })) }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/charts',
    operationId: 'getConsoleCharts',
    summary: 'List tiles and charts of the overview with the operations that return their values',
    access: 'user',
    response: Type.Object({
      items: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description:
          'Returns charts in display order: title, operation, time ranges, and lines with the members that they show.',
      }),
      tiles: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'Returns tiles in display order: title, operation, the member that is added up, and its page.',
      }),
    }),
    reasons: ['console.labels-unknown', 'console.permission-missing'],
    async handler(request, { book }) {
      const principal = requirePrincipal(request)
      return {
        items: [...(await book.charts(principal, request.locale))],
        tiles: [...(await book.tiles(principal, request.locale))],
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/charts/:id/points',
    operationId: metricChartOperation,
    summary: 'Get the points of a chart, oldest first',
    description:
      'Returns the sum over all instances since their start, or the values of one instance. The points cover at most one hour in steps of 30 seconds, or one day in steps of 5 minutes.',
    access: { permission: viewMetrics, scope: 'none' },
    request: {
      params: Type.Object({ id: word }),
      query: Type.Object({
        span: Type.Optional(Type.Enum(['hour', 'day'], { default: 'hour' })),
        instance: Type.Optional(
          line(128, { description: 'Instance whose values are returned. If absent, the sum over all instances.' }),
        ),
      }),
    },
    response: Type.Object({
      instance: Type.String({ description: 'Instance that sent this response.' }),
      since: nullable(instant, {
        description: 'Time at which the first instance began to count. Null if none has begun.',
      }),
      instances: Type.Array(
        Type.Object({
          instance: text,
          since: nullable(instant),
          answered: Type.Boolean({ description: 'False if the instance was running recently but did not respond.' }),
        }),
        { description: 'Instances that were queried, beginning with the one that sent this response.' },
      ),
      stepSeconds: Type.Integer(),
      items: Type.Array(
        Type.Object({
          at: Type.String({ format: 'date-time', description: 'End of the step.' }),
          of: nullable(Type.String(), {
            description: 'Value of the breakdown, such as a channel. Null without a breakdown.',
          }),
          counts: Type.Record(Type.String(), Type.Number(), { description: 'Values by line of the chart.' }),
        }),
      ),
    }),
    reasons: ['console.chart-unknown'],
    async handler({ params, query: { span = 'hour', instance } }, { book, history }) {
      const { answers, silent } = await history.steps(book.measuredChart(params.id), span)
      const expected = answers.filter((one) => instance === undefined || one.instance === instance)
      const began = expected.flatMap(({ since }) => (since === null ? [] : [since]))
      return {
        instance: history.instance,
        since: began.length === 0 ? null : momentOf(Math.min(...began)),
        instances: [
          ...answers.map((one) => ({
            instance: one.instance,
            answered: true,
            since: one.since === null ? null : momentOf(one.since),
          })),
          ...silent.map((name) => ({ instance: name, since: null, answered: false })),
        ],
        stepSeconds: spans[span].stepMs / 1000,
        items: addUpSteps(expected, span).map(({ at, ...step }) => ({ ...step, at: momentOf(at) })),
      }
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/plugins',
    summary: 'List loaded plugins with their dependencies, declarations and start time',
    access: { permission: viewPlugins, scope: 'none' },
    response: pluginFactsView,
    reasons: [],
    handler: ({ locale }, { kernel, http }) => viewOfPlugins(kernel, http, locale),
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/health',
    summary: 'List health checks of the responding instance, failed ones first',
    access: { permission: viewHealth, scope: 'none' },
    request: { query: Type.Object({ outcome: Type.Optional(healthOutcome) }) },
    response: healthFactsView,
    reasons: [],
    handler: async ({ query }, { health, redact }) =>
      viewOfHealth(await health.outcomes(), redact).filter(
        ({ outcome }) => query.outcome === undefined || outcome === query.outcome,
      ),
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/console/database',
    summary: 'Get the database with its applied and pending change sets',
    access: { permission: viewDatabase, scope: 'none' },
    response: databaseFactsView,
    reasons: [],
    handler: (_, { db }) => readDatabaseState(db),
  }),
]
