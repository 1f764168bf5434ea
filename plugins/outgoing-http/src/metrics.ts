import type { ConsumingPlugin } from '@plinth/kernel'
import { Counter, Histogram, type Registry } from 'prom-client'
import { isOutgoingHttpError, type OutgoingHttp } from './contract.ts'

const names = {
  requests: 'platform_outgoing_http_requests_total',
  seconds: 'platform_outgoing_http_request_duration_seconds',
}

/** Counts requests by plugin and outcome. The host is not a label, so that the number of series is limited. */
export function outgoingMetrics(registry: Registry) {
  const requests = new Counter({
    name: names.requests,
    help: 'Outgoing HTTP requests by plugin and outcome: a class of statuses, or why no answer came',
    labelNames: ['plugin', 'outcome'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: names.seconds,
    help: 'Seconds of outgoing HTTP requests by plugin, answered or not',
    labelNames: ['plugin'],
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [registry],
  })
  const measured = async <Response extends { readonly status: number }>(
    { id: plugin }: ConsumingPlugin,
    work: () => Promise<Response>,
  ) => {
    const end = seconds.startTimer({ plugin })
    try {
      const response = await work()
      requests.inc({ plugin, outcome: `${Math.trunc(response.status / 100)}xx` })
      return response
    } catch (error) {
      requests.inc({ plugin, outcome: isOutgoingHttpError(error) ? error.code : 'failed' })
      throw error
    } finally {
      end()
    }
  }
  return {
    measuring: (client: OutgoingHttp, consumer: ConsumingPlugin): OutgoingHttp => ({
      request: (request) => measured(consumer, () => client.request(request)),
      stream: (request) => measured(consumer, () => client.stream(request)),
      check: (url) => client.check(url),
      reach: (request) => client.reach(request),
    }),
    stop: () => {
      for (const name of Object.values(names)) registry.removeSingleMetric(name)
    },
  }
}
