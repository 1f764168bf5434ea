import { Counter, type Registry } from 'prom-client'
import type { RuleOutcome } from './contract.ts'

const name = 'platform_notification_rule_events_total'

/** Counts raised events by what was decided; the codes are the callers' and no label. */
export function ruleMetrics(registry: Registry): { count(outcome: RuleOutcome): void; stop(): void } {
  const help = 'Events that rules of notification judged, by what was decided'
  const counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] })
  return {
    count: (outcome) => counter.inc({ outcome }),
    stop: () => registry.removeSingleMetric(name),
  }
}
