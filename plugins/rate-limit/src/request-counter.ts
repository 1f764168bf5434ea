import { Counter, type Registry } from 'prom-client'
import type { Outcome } from './service.ts'

const name = 'platform_rate_limit_requests_total'

/**
 * Counts outcomes for `platform.rate.limit.requests` (document 1, "Events" 3). Tags are the store and the outcome, never
 * anything of a caller. Counting costs an addition; the registry gets the sums when it is read.
 */
export function requestCounter(registry: Registry): {
  count(store: string, outcome: Outcome): void
  stop(): void
} {
  const sums = new Map<string, Record<Outcome, number>>()
  new Counter({
    name,
    help: 'Rate limit decisions by store and outcome',
    labelNames: ['store', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [store, outcomes] of sums) {
        for (const [outcome, sum] of Object.entries(outcomes)) this.inc({ store, outcome }, sum)
      }
    },
  })
  return {
    count(store, outcome) {
      let outcomes = sums.get(store)
      if (outcomes === undefined) {
        outcomes = { allowed: 0, rejected: 0, unlimited: 0 }
        sums.set(store, outcomes)
      }
      outcomes[outcome] += 1
    },
    stop: () => registry.removeSingleMetric(name),
  }
}
