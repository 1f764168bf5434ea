import type { Clock, DeliveryOutcome } from '@plinth/kernel'

/**
 * - `single`: the one provider that the message or the configuration names.
 * - `failover`: the providers in their order; the next one is asked when one did not deliver.
 * - `round-robin`: like failover, but each message begins with the provider after that of the message before.
 */
export const providerStrategies = ['single', 'failover', 'round-robin'] as const
export type ProviderStrategy = (typeof providerStrategies)[number]

export interface ProviderChoiceParts {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Milliseconds for which a provider that failed is asked after the others, where it does not say itself. */
  readonly restMs: () => number
  /**
   * Whether a failure is the provider's and not the message's, so that the next message would fail as well. Absent: what is
   * `deferred`.
   */
  readonly isFaulty?: (outcome: DeliveryOutcome) => boolean
  /**
   * Which failures let the next provider try. Absent: all. A company that refuses the recipient, who may have told it so, is no
   * reason to ask another one.
   */
  readonly movesOn?: (outcome: DeliveryOutcome) => boolean
}

/**
 * Chooses between the providers of one channel: webhook, SMS, mail. A provider that failed rests: it is asked after the
 * others until its rest is over, and still asked when all rest, so that one bad minute never stops a channel.
 */
export class ProviderChoice {
  readonly #parts: ProviderChoiceParts
  /** End of the rest by provider, monotonic milliseconds. */
  readonly #restsUntil = new Map<string, number>()
  #turn = 0

  constructor(parts: ProviderChoiceParts) {
    this.#parts = parts
  }

  /** Order in which providers would be asked now. `single` takes the first. */
  order(providers: readonly string[], strategy: ProviderStrategy): readonly string[] {
    if (strategy === 'single') return providers.slice(0, 1)
    const start = strategy === 'round-robin' && providers.length > 0 ? this.#turn % providers.length : 0
    const turned = [...providers.slice(start), ...providers.slice(0, start)]
    return turned.sort((a, b) => this.restsFor(a) - this.restsFor(b))
  }

  /** Milliseconds for which a provider still rests; 0: it does not. */
  restsFor(provider: string): number {
    return Math.max(0, (this.#restsUntil.get(provider) ?? 0) - this.#parts.clock.monotonic())
  }

  /**
   * Asks one provider after the other until one delivers. `accepted` and `unknown` end the search: what may have been
   * delivered is not sent through another provider. When all fail, the answer is `deferred` if any was, with the shortest
   * wait; its message names every attempt.
   *
   * @param providers codes, at least one
   * @param signal ends the search between two attempts
   * @param attempt sends through one provider, and logs when that fails; must not throw
   */
  async run(
    providers: readonly string[],
    strategy: ProviderStrategy,
    signal: AbortSignal,
    attempt: (provider: string) => Promise<DeliveryOutcome>,
  ): Promise<DeliveryOutcome> {
    const order = this.order(providers, strategy)
    if (strategy === 'round-robin') this.#turn = (this.#turn + 1) % Math.max(1, providers.length)
    const failures: [provider: string, outcome: Failure][] = []
    for (const provider of order) {
      if (failures.length > 0 && signal.aborted) break
      const outcome = await attempt(provider)
      if (outcome.outcome === 'accepted') this.#restsUntil.delete(provider)
      if (outcome.outcome === 'accepted' || outcome.outcome === 'unknown') return outcome
      this.#rest(provider, outcome)
      failures.push([provider, outcome])
      if (this.#parts.movesOn?.(outcome) === false) break
    }
    return together(failures)
  }

  #rest(provider: string, outcome: Failure): void {
    const { clock, restMs, isFaulty = ({ outcome }: DeliveryOutcome) => outcome === 'deferred' } = this.#parts
    if (!isFaulty(outcome)) return
    const said = outcome.outcome === 'deferred' ? outcome.retryAfterMs : undefined
    this.#restsUntil.set(provider, clock.monotonic() + (said ?? restMs()))
  }
}

type Failure = Exclude<DeliveryOutcome, { outcome: 'accepted' } | { outcome: 'unknown' }>

function together(failures: readonly [provider: string, outcome: Failure][]): DeliveryOutcome {
  const outcomes = failures.map(([, outcome]) => outcome)
  const deferred = outcomes.filter((outcome) => outcome.outcome === 'deferred')
  const last = deferred.at(-1) ?? outcomes.at(-1)
  if (last === undefined) throw new RangeError('There is no provider to ask')
  if (failures.length === 1) return last
  const errorMessage = failures.map(([provider, outcome]) => `${provider}: ${outcome.errorMessage}`).join('; ')
  if (last.outcome === 'rejected') return { ...last, errorMessage }
  const waits = deferred.flatMap((outcome) => outcome.retryAfterMs ?? [])
  // One that says nothing may be asked at once.
  const retryAfterMs = waits.length === deferred.length ? Math.min(...waits) : undefined
  const { retryAfterMs: _, ...failure } = last
  return { ...failure, errorMessage, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
