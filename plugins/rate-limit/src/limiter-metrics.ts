import type { FailurePolicy } from '@plinth/http'
import type { Clock, Logger, RateLimitStore } from '@plinth/kernel'
import { Counter, type Registry } from 'prom-client'
import type { StoreCalls } from './store-calls.ts'

interface StoreWatchDependencies {
  readonly clock: Clock
  readonly log: Logger
  readonly calls: StoreCalls
  /** Prefix of the key with which a store is tested. */
  readonly keyPrefix: string
}

/** Delay in milliseconds between two tests of a failing store. */
const retestMs = 500
/** Minimum time in milliseconds between two log lines about failed keys of a store. */
const logIntervalMs = 10_000

interface StoreFailureState {
  /** True if a test failed too, so that the whole store fails and not only a key. */
  isDown: boolean
  /** Keys of failed calls. */
  readonly keys: Set<string>
}

/**
 * Tracks failing shared stores. After a failed call, a test with another key shows whether the whole store fails. Until
 * then, the failed key is not sent to the store. If the test fails too, no calls are sent until a test in the
 * background succeeds, so that callers need not wait. Logs the start and the end of a failure once.
 */
export class StoreFailureWatch {
  readonly #parts: StoreWatchDependencies
  readonly #troubled = new Map<string, StoreFailureState>()
  readonly #toldAt = new Map<string, number>()
  readonly #stopped = new AbortController()

  constructor(parts: StoreWatchDependencies) {
    this.#parts = parts
  }

  /** Returns true if the store fails, or if a call with this key failed and the cause is not known yet. */
  isFailing(name: string, key?: string): boolean {
    if (this.#troubled.size === 0) return false
    const trouble = this.#troubled.get(name)
    return trouble !== undefined && (trouble.isDown || (key !== undefined && trouble.keys.has(key)))
  }

  failed(name: string, store: RateLimitStore, cause: unknown, keys: readonly string[]): void {
    if (!store.traits.shared) this.#tell(name, cause)
    if (!store.traits.shared || this.#stopped.signal.aborted) return
    const known = this.#troubled.get(name)
    const trouble = known ?? { isDown: false, keys: new Set() }
    for (const key of keys) trouble.keys.add(key)
    if (known !== undefined) return
    this.#troubled.set(name, trouble)
    void this.#lookUntilItAnswers(name, store, trouble, cause)
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #lookUntilItAnswers(
    name: string,
    store: RateLimitStore,
    trouble: StoreFailureState,
    cause: unknown,
  ): Promise<void> {
    const { clock, log, calls, keyPrefix } = this.#parts
    const { signal } = this.#stopped
    const request = { key: `${keyPrefix}:store-watch`, limit: 1, windowMs: 1000, cost: 1 }
    while (!signal.aborted) {
      try {
        await calls.run((context) => store.peek(request, context))
        this.#troubled.delete(name)
        if (trouble.isDown) log.info({ store: name }, 'rate limit store responds again')
        else this.#tell(name, cause)
        return
      } catch {
        if (!trouble.isDown) {
          trouble.isDown = true
          log.error({ err: cause, store: name }, 'rate limit store failed; it is not used until it responds again')
        }
        await clock.sleep(retestMs, signal)
      }
    }
  }

  #tell(name: string, cause: unknown): void {
    const now = this.#parts.clock.monotonic()
    if (now - (this.#toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < logIntervalMs) return
    this.#toldAt.set(name, now)
    this.#parts.log.error({ err: cause, store: name }, 'rate limit store failed for a key')
  }
}

type Outcome = 'allowed' | 'rejected' | 'unlimited'

/** Counts of one store, which decisions increment directly. */
export type OutcomeCounts = Record<Outcome, number>

/** Counters of the limiter. Their labels are limited in number and contain no data of callers. */
export interface LimiterCounters {
  outcomesOf(store: string): OutcomeCounts
  /** Counts a decision that was made without the requested store. */
  degraded(store: string, policy: FailurePolicy): void
  /** Counts a request that a limit in shadow mode would have denied. */
  shadowed(store: string): void
}

export const zeroOutcomeCounts = (): OutcomeCounts => ({ allowed: 0, rejected: 0, unlimited: 0 })

/** For a product without metrics. */
export const noopCounters: LimiterCounters = { outcomesOf: zeroOutcomeCounts, degraded: () => {}, shadowed: () => {} }

/**
 * Returns the counters of `platform.rate.limit.requests` (document 1 of the specification, "Events" 3) and more
 * counters for operators. Counting is one addition. The registry receives the sums when it is read.
 */
export function limiterMetrics(registry: Registry): LimiterCounters & { stop(): void } {
  const outcomes = new Map<string, OutcomeCounts>()
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
    outcomesOf: (store) => of(outcomes, store, zeroOutcomeCounts),
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
  /** Label in addition to the store. */
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
