import { mostCounted } from '@plinth/database'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Backlog } from './backlog.ts'
import type { Outcome } from './deliverer.ts'

/**
 * Counts attempts by event and outcome, and reads the backlog when the registry is read. Tags are bounded: events without
 * a handler in this process share one.
 */
export function deliveryMetrics(
  registry: Registry,
  backlog: Backlog,
  isKnown: (type: string) => boolean,
): (type: string, outcome: Outcome) => void {
  const counter = new Counter({
    name: 'platform_events_deliveries_total',
    help: 'Attempts to deliver published events by event and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: 'platform_events_outbox_events',
    help: `Events in the outbox that are not delivered, by state; at most ${mostCounted} are counted`,
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset()
      // Without the database there is no number, but the other metrics are still told.
      const counts = await backlog.open().catch(() => [])
      for (const [status, total] of counts) this.set({ status }, total)
    },
  })
  return (type, outcome) => counter.inc({ type: isKnown(type) ? type : 'other', outcome })
}
