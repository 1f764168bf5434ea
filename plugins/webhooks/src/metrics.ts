import type { Registry } from 'prom-client'
import { Counter } from 'prom-client'

const name = 'platform_webhooks_attempts_total'

export type AttemptResult = 'delivered' | 'retried' | 'failed' | 'held' | 'rejected'

/** Counts results by event type. The types are those that plugins declare, so the number of series is limited. */
export function webhookMetrics(registry: Registry): {
  count(type: string, outcome: AttemptResult): void
  stop(): void
} {
  const counter = new Counter({
    name,
    help: 'Webhook deliveries that were attempted or ended without an attempt, by event type and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  return {
    count: (type, outcome) => counter.inc({ type, outcome }),
    stop: () => registry.removeSingleMetric(name),
  }
}
