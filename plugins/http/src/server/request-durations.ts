import type { Metric, MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

/** Upper bounds in seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** Codes come from code, not from callers; should one ever not, the number of series stays bounded. */
const mostCodes = 24
const name = 'http_request_duration_seconds'

/** Durations of one route and code. */
interface Series {
  /** Requests by bucket, the last one beyond every bound. */
  readonly counts: number[]
  sum: number
}

/** One route's series by envelope code, or by HTTP status for answers without an envelope. */
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
    while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
    series.counts[bucket] = (series.counts[bucket] as number) + 1
    series.sum += seconds
  }

  #add(code: string): Series {
    const tag = this.series.size < mostCodes ? code : 'other'
    const series = this.series.get(tag) ?? { counts: Array(bounds.length + 1).fill(0), sum: 0 }
    this.series.set(tag, series)
    return series
  }
}

/**
 * The histogram `http_request_duration_seconds` by method, route pattern and code. prom-client's own histogram hashes
 * its labels at every observation, which costs a fast route 3 % of its throughput.
 */
export function createRequestDurations(registry: Registry): (method: string, route: string) => RouteDurations {
  const routes: RouteDurations[] = []
  const histogram: Pick<MetricObjectWithValues<MetricValue<string>>, 'name' | 'help' | 'type'> & { get(): unknown } = {
    name,
    help: 'Seconds from the arrival of a request to its answer, by method, route pattern and code',
    type: 'histogram' as never,
    get: async () => ({ ...histogram, aggregator: 'sum', values: routes.flatMap(valuesOf) }),
  }
  // The registry asks a metric for its name and `get` alone; its type demands one of prom-client's own classes.
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
