import type { Database } from '@plinth/database'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Outcome } from './deliverer.ts'

const deliveries = 'platform_events_deliveries_total'
const backlog = 'platform_events_outbox_events'

/**
 * Counts attempts by event and outcome, and reads the backlog when the registry is read. Tags are bounded: events without
 * a handler in this process share one.
 */
export function deliveryMetrics(
  registry: Registry,
  db: Database,
  isKnown: (type: string) => boolean,
): { count(type: string, outcome: Outcome): void; stop(): void } {
  const counter = new Counter({
    name: deliveries,
    help: 'Attempts to deliver published events by event and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: backlog,
    help: 'Events in the outbox that are not delivered, by state',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const status of ['pending', 'failed']) {
        // Without the database there is no number, but the other metrics are still told.
        const rows = await db
          .query<{ total: number | string }>('select count(*) as total from outbox_event where status = ?', [status])
          .catch(() => [])
        for (const { total } of rows) this.set({ status }, Number(total))
      }
    },
  })
  return {
    count: (type, outcome) => counter.inc({ type: isKnown(type) ? type : 'other', outcome }),
    stop() {
      registry.removeSingleMetric(deliveries)
      registry.removeSingleMetric(backlog)
    },
  }
}
