import type { Clock, DeliveryOutcome } from '@plinth/kernel'

/**
 * - `single`: the provider of the message or of the configuration.
 * - `failover`: the providers in their order. The next one is tried if a provider does not deliver.
 * - `round-robin`: like failover, but each message starts with the next provider in turn.
 */
export const providerStrategies = ['single', 'failover', 'round-robin'] as const
export type ProviderStrategy = (typeof providerStrategies)[number]

export interface ProviderChoiceParts {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Default milliseconds for which a failed provider is tried last. A provider may specify another time. */
  readonly restMs: () => number
  /**
   * Returns true for an error of the provider, which also affects the next message. Default: each `deferred` outcome.
   */
  readonly isFaulty?: (outcome: DeliveryOutcome) => boolean
  /**
   * Returns true for errors after which the next provider is tried. Default: all. If a provider rejects the recipient,
   * for example after an opt-out, no other provider may be tried.
   */
  readonly movesOn?: (outcome: DeliveryOutcome) => boolean
}

/**
 * Chooses between the providers of one channel: webhook, SMS, mail. A failed provider rests: it is tried after the
 * others until its rest ends. If all rest, they are still tried, so a short outage never stops a channel.
 */
export class ProviderChoice {
  readonly #parts: ProviderChoiceParts
  /** End of the rest in monotonic milliseconds, by provider. */
  readonly #restsUntil = new Map<string, number>()
  #turn = 0

  constructor(parts: ProviderChoiceParts) {
    this.#parts = parts
  }

  /** Returns the order in which providers would be tried now. `single` uses the first. */
  order(providers: readonly string[], strategy: ProviderStrategy): readonly string[] {
    if (strategy === 'single') return providers.slice(0, 1)
    const start = strategy === 'round-robin' && providers.length > 0 ? this.#turn % providers.length : 0
    const turned = [...providers.slice(start), ...providers.slice(0, start)]
    return turned.sort((a, b) => this.restsFor(a) - this.restsFor(b))
  }

  /** Returns the milliseconds until the rest of a provider ends; 0 if it does not rest. */
  restsFor(provider: string): number {
    return Math.max(0, (this.#restsUntil.get(provider) ?? 0) - this.#parts.clock.monotonic())
  }

  /**
   * Tries one provider after another until one delivers. `accepted` and `unknown` end the search, because a message
   * that may have been delivered is not sent again. If all fail, the outcome is `deferred` if any was, with the
   * shortest wait. Its message contains every attempt.
   *
   * @param providers codes, at least one
   * @param signal ends the search between two attempts
   * @param attempt sends through one provider, and logs errors; must not throw
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
  // A provider without a wait may be tried immediately.
  const retryAfterMs = waits.length === deferred.length ? Math.min(...waits) : undefined
  const { retryAfterMs: _, ...failure } = last
  return { ...failure, errorMessage, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}
