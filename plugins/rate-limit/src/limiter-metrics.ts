import { Counter, type Registry } from 'prom-client'
import type { FailurePolicy } from './contract.ts'

export type Outcome = 'allowed' | 'rejected' | 'unlimited'

/** What the limiter tells about its decisions. Tags are bounded: never anything of a caller. */
export interface Counts {
  outcome(store: string, outcome: Outcome): void
  /** A decision was made without the store that was asked for. */
  degraded(store: string, policy: FailurePolicy): void
  /** A limit that only watches would have denied. */
  shadowed(store: string): void
}

export const noCounts: Counts = { outcome: () => {}, degraded: () => {}, shadowed: () => {} }

/**
 * The counters of `platform.rate.limit.requests` (document 1, "Events" 3) and of what operators have to know besides.
 * Counting costs an addition; the registry gets the sums when it is read.
 */
export function limiterMetrics(registry: Registry): Counts & { stop(): void } {
  const requests = sums(registry, {
    name: 'platform_rate_limit_requests_total',
    help: 'Rate limit decisions by store and outcome',
    tags: ['store', 'outcome'],
  })
  const degraded = sums(registry, {
    name: 'platform_rate_limit_degraded_total',
    help: 'Rate limit decisions made while their store failed, by store and failure policy',
    tags: ['store', 'policy'],
  })
  const shadowed = sums(registry, {
    name: 'platform_rate_limit_shadowed_total',
    help: 'Requests that limits in shadow mode would have denied, by store',
    tags: ['store'],
  })
  return {
    outcome: (store, outcome) => requests.add(store, outcome),
    degraded: (store, policy) => degraded.add(store, policy),
    shadowed: (store) => shadowed.add(store, ''),
    stop() {
      for (const counter of [requests, degraded, shadowed]) counter.stop()
    },
  }
}

interface CounterDeclaration {
  readonly name: string
  readonly help: string
  /** The store, and for some a second one. */
  readonly tags: readonly ['store', string?]
}

function sums(registry: Registry, { name, help, tags: [store, second] }: CounterDeclaration) {
  const byStore = new Map<string, Map<string, number>>()
  new Counter({
    name,
    help,
    labelNames: second === undefined ? [store] : [store, second],
    registers: [registry],
    collect() {
      this.reset()
      for (const [storeName, byTag] of byStore) {
        for (const [tag, sum] of byTag) {
          this.inc({ [store]: storeName, ...(second === undefined ? {} : { [second]: tag }) }, sum)
        }
      }
    },
  })
  return {
    add(storeName: string, tag: string): void {
      let byTag = byStore.get(storeName)
      if (byTag === undefined) {
        byTag = new Map()
        byStore.set(storeName, byTag)
      }
      byTag.set(tag, (byTag.get(tag) ?? 0) + 1)
    },
    stop: () => registry.removeSingleMetric(name),
  }
}
