import { metricChart } from '@plinth/admin'
import { service } from '@plinth/kernel'
import {
  collectDefaultMetrics,
  Gauge,
  type Metric,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client'

let ofProcess: Registry | undefined

/**
 * Adds process metrics to a registry: memory, garbage collection, CPU, event loop. All products in a process share
 * these metrics, because prom-client never stops its timers and observers.
 */
export function measureProcess(registry: Registry): void {
  if (ofProcess === undefined) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  for (const metric of ofProcess.getMetricsAsArray()) registry.registerMetric(metric as unknown as Metric)
}

/**
 * Metrics of the database. This service is found by its id, because the package does not import the database plugin.
 */
export interface DatabaseWaitMetrics {
  /** Seconds since the oldest current wait for the database began. */
  readonly longestWaitSeconds: number
}

export const databaseWaitMetrics = service<DatabaseWaitMetrics>('database', { from: '@plinth/database' })

export function measureDatabase(registry: Registry, waits: DatabaseWaitMetrics): void {
  new Gauge({
    name: 'plinth_database_longest_wait_seconds',
    help: 'Age of the oldest statement, or turn for a database connection, that is waited for',
    registers: [registry],
    collect() {
      this.set(waits.longestWaitSeconds)
    },
  })
}

/** Upper bounds of the histogram buckets, in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/**
 * Maximum number of different codes per route. Further codes are counted as "other", so that a route cannot create any
 * number of time series.
 */
const maxCodes = 24
const name = 'http_request_duration_seconds'

interface Series {
  /** The last bucket counts requests above all bounds. */
  readonly counts: number[]
  sum: number
}

/** Durations of the requests to one route by envelope code, or by HTTP status if there is no envelope. */
export class RouteDurations {
  readonly method: string
  readonly route: string
  readonly series = new Map<string, Series>()

  constructor(method: string, route: string) {
    this.method = method
    this.route = route
  }

  observe(code: string, seconds: number): void {
    const series = this.series.get(code) ?? this.#add(code)
    let bucket = 0
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket++
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += seconds
  }

  #add(code: string): Series {
    const tag = this.series.size < maxCodes ? code : 'other'
    const series = this.series.get(tag) ?? { counts: Array(bounds.length + 1).fill(0), sum: 0 }
    this.series.set(tag, series)
    return series
  }
}

/**
 * Registers the histogram `http_request_duration_seconds` by method, route pattern and code. The histogram of
 * prom-client hashes labels at each observation, which would lower the throughput of a fast route by 3 %.
 */
export function createRequestDurations(registry: Registry): (method: string, route: string) => RouteDurations {
  const routes: RouteDurations[] = []
  const histogram: Pick<MetricObjectWithValues<MetricValue<string>>, 'name' | 'help' | 'type'> & { get(): unknown } = {
    name,
    help: 'Seconds from the arrival of a request to its answer, by method, route pattern and code',
    type: 'histogram' as never,
    get: async () => ({ ...histogram, aggregator: 'sum', values: routes.flatMap(valuesOf) }),
  }
  // The type requires a class of prom-client, but the registry only uses `name` and `get`.
  registry.registerMetric(histogram as unknown as Metric)
  return (method, route) => {
    const durations = new RouteDurations(method, route)
    routes.push(durations)
    return durations
  }
}

function valuesOf({ method, route, series }: RouteDurations): MetricValue<string>[] {
  return [...series].flatMap(([code, { counts, sum }]) => {
    const labels = { method, route, code }
    let total = 0
    const buckets = counts.map((count, index) => {
      total += count
      return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[index] ?? '+Inf') }, value: total }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: total },
    ]
  })
}

const metric = 'http_request_duration_seconds'

/** Request charts of the overview. A code is the envelope code, or the HTTP status if there is no envelope. */
export const requestCharts = [
  metricChart({
    id: 'http.requests',
    title: { en: 'Requests', 'zh-CN': '请求' },
    order: 10,
    metric,
    lines: [{ name: 'all', title: { en: 'Answered', 'zh-CN': '已响应' }, tone: 'info' }],
  }),
  metricChart({
    id: 'http.failures',
    title: { en: 'Failures of the product', 'zh-CN': '服务端失败' },
    lead: { en: 'Requests that failed through no fault of the caller.', 'zh-CN': '非调用方原因导致失败的请求。' },
    order: 20,
    metric,
    lines: [
      {
        name: 'failed',
        title: { en: 'Failed', 'zh-CN': '失败' },
        tone: 'bad',
        where: { code: ['500', '502', '504'] },
      },
      {
        name: 'away',
        title: { en: 'Not possible just then', 'zh-CN': '暂不可用' },
        tone: 'warn',
        where: { code: ['503'] },
      },
    ],
  }),
]
