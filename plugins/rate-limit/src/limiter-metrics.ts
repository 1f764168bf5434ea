import type { FailurePolicy } from '@plinth/http'
import { Counter, type Registry } from 'prom-client'

type Outcome = 'allowed' | 'rejected' | 'unlimited'

/** Sums of one store. Whoever decides adds to them by itself. */
export type OutcomeSums = Record<Outcome, number>

/** What the limiter tells about its decisions. Tags are bounded: never anything of a caller. */
export interface Counts {
  outcomesOf(store: string): OutcomeSums
  /** A decision was made without the store that was asked for. */
  degraded(store: string, policy: FailurePolicy): void
  /** A limit that only watches would have denied. */
  shadowed(store: string): void
}

export const noOutcomes = (): OutcomeSums => ({ allowed: 0, rejected: 0, unlimited: 0 })

/** For a product without metrics. */
export const noCounts: Counts = { outcomesOf: noOutcomes, degraded: () => {}, shadowed: () => {} }

/**
 * The counters of `platform.rate.limit.requests` (document 1, "Events" 3) and of what operators have to know besides.
 * Counting costs an addition; the registry gets the sums when it is read.
 */
export function limiterMetrics(registry: Registry): Counts & { stop(): void } {
  const outcomes = new Map<string, OutcomeSums>()
  const degraded = new Map<string, Partial<Record<FailurePolicy, number>>>()
  const shadowed = new Map<string, { shadowed: number }>()
  const counters = [
    counterOf(registry, outcomes, {
      name: 'platform_rate_limit_requests_total',
      help: 'Rate limit decisions by store and outcome',
      tag: 'outcome',
    }),
    counterOf(registry, degraded, {
      name: 'platform_rate_limit_degraded_total',
      help: 'Rate limit decisions made while their store failed, by store and failure policy',
      tag: 'policy',
    }),
    counterOf(registry, shadowed, {
      name: 'platform_rate_limit_shadowed_total',
      help: 'Requests that limits in shadow mode would have denied, by store',
    }),
  ]
  const of = <Sums>(sums: Map<string, Sums>, store: string, none: () => Sums): Sums => {
    const known = sums.get(store) ?? none()
    sums.set(store, known)
    return known
  }
  return {
    outcomesOf: (store) => of(outcomes, store, noOutcomes),
    degraded(store, policy) {
      const sums = of<Partial<Record<FailurePolicy, number>>>(degraded, store, () => ({}))
      sums[policy] = (sums[policy] ?? 0) + 1
    },
    shadowed(store) {
      of(shadowed, store, () => ({ shadowed: 0 })).shadowed += 1
    },
    stop() {
      for (const { stop } of counters) stop()
    },
  }
}

interface CounterDeclaration {
  readonly name: string
  readonly help: string
  /** The tag beside the store. */
  readonly tag?: string
}

function counterOf(
  registry: Registry,
  sums: ReadonlyMap<string, Readonly<Record<string, number>>>,
  { name, help, tag }: CounterDeclaration,
) {
  new Counter({
    name,
    help,
    labelNames: tag === undefined ? ['store'] : ['store', tag],
    registers: [registry],
    collect() {
      this.reset()
      for (const [store, byTag] of sums) {
        for (const [value, sum] of Object.entries(byTag)) {
          this.inc(tag === undefined ? { store } : { store, [tag]: value }, sum)
        }
      }
    },
  })
  return { stop: () => registry.removeSingleMetric(name) }
}
