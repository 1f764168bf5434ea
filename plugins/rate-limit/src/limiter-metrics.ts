import type { FailurePolicy } from '@plinth/http'
import type { Clock, Logger, RateLimitStore } from '@plinth/kernel'
import { Counter, type Registry } from 'prom-client'
import type { Deadlines } from './deadlines.ts'

interface StoreWatchParts {
  readonly clock: Clock
  readonly log: Logger
  readonly deadlines: () => Deadlines
  /** Part of the key that is looked at to see whether a store answers. */
  readonly keyPrefix: string
}

/** Delay between two looks at a store that fails, milliseconds. */
const lookAgainMs = 500
/** Stores fail for single keys too; one line in this time is enough, milliseconds. */
const quietMs = 10_000

/** A shared store of which a call has failed. */
interface Trouble {
  /** Whether a look has failed too: then it is the store, and not a key. */
  isDown: boolean
  /** Keys of calls that failed. */
  readonly keys: Set<string>
}

/**
 * Knows which shared stores fail. When a call fails, a look at another key tells whether the store does or that key alone.
 * Until then the key is not asked for any more, and from then on, where the look fails too, nothing is, so that nobody waits
 * for it, until the store has answered a look in the background. It tells the log once when it begins and once when it ends.
 */
export class StoreWatch {
  readonly #parts: StoreWatchParts
  readonly #troubled = new Map<string, Trouble>()
  readonly #toldAt = new Map<string, number>()
  readonly #stopped = new AbortController()

  constructor(parts: StoreWatchParts) {
    this.#parts = parts
  }

  /** Whether the store fails, or a call with this key of it has and nobody knows yet why. */
  isFailing(name: string, key?: string): boolean {
    if (this.#troubled.size === 0) return false
    const trouble = this.#troubled.get(name)
    return trouble !== undefined && (trouble.isDown || (key !== undefined && trouble.keys.has(key)))
  }

  /** Takes note that a call of the store with these keys failed. */
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

  async #lookUntilItAnswers(name: string, store: RateLimitStore, trouble: Trouble, cause: unknown): Promise<void> {
    const { clock, log, deadlines, keyPrefix } = this.#parts
    const { signal } = this.#stopped
    const request = { key: `${keyPrefix}:store-watch`, limit: 1, windowMs: 1000, cost: 1 }
    while (!signal.aborted) {
      try {
        await deadlines().run((context) => store.peek(request, context))
        this.#troubled.delete(name)
        if (trouble.isDown) log.info({ store: name }, 'rate limit store answers again')
        else this.#tell(name, cause)
        return
      } catch {
        if (!trouble.isDown) {
          trouble.isDown = true
          log.error({ err: cause, store: name }, 'rate limit store failed: it is not asked until it answers again')
        }
        await clock.sleep(lookAgainMs, signal)
      }
    }
  }

  #tell(name: string, cause: unknown): void {
    const now = this.#parts.clock.monotonic()
    if (now - (this.#toldAt.get(name) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    this.#toldAt.set(name, now)
    this.#parts.log.error({ err: cause, store: name }, 'rate limit store failed for a key')
  }
}

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
