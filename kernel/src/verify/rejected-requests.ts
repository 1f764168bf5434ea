import { service } from '../refs.ts'
import type { RunningProduct } from '../running-product.ts'

/** The part of a registry of metrics that is read; the kernel depends on no plugin. */
interface Metrics {
  getSingleMetric(name: string): { get(): Promise<{ readonly values: readonly Sample[] }> } | undefined
}
interface Sample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number | undefined>>
}
const metrics = service<Metrics>('metrics')

/** Returns the number of requests that `@plinth/outgoing-http` rejected because the plugin does not declare their host. */
export async function rejectedRequests(running: RunningProduct, plugin: string): Promise<number> {
  if (!running.plan.providers.has(metrics.id)) return 0
  const counter = running.service(metrics).getSingleMetric('platform_outgoing_http_requests_total')
  const { values } = (await counter?.get()) ?? { values: [] }
  const rejected = values.filter(({ labels }) => labels['plugin'] === plugin && labels['outcome'] === 'host-undeclared')
  return rejected.reduce((sum, { value }) => sum + value, 0)
}
