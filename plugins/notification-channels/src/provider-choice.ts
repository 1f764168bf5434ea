import type { Clock, DeliveryOutcome } from '@plinth/kernel'

/**
 * Strategies for the choice of a provider.
 * - `single`: the provider of the message or of the configuration.
 * - `failover`: the providers in their order. If one does not deliver, the next one is tried.
 * - `round-robin`: like `failover`, but each message starts with the next provider.
 */
export const providerStrategies = ['single', 'failover', 'round-robin'] as const
export type ProviderStrategy = (typeof providerStrategies)[number]

export interface ProviderChoiceOptions {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Milliseconds during which a failed provider is tried last, unless the provider specifies another time. */
  readonly restMs: () => number
  /** True if the next message through this provider would fail too. Default: true for each `deferred` outcome. */
  readonly isFaulty?: (outcome: DeliveryOutcome) => boolean
  /**
   * True if the next provider may be tried after this outcome. Default: always. False, for example, if the recipient
   * has opted out.
   */
  readonly movesOn?: (outcome: DeliveryOutcome) => boolean
}

/**
 * Chooses between providers. A provider that has failed rests: for some time, it is tried after the other providers. If
 * all providers rest, they are still tried, so a short outage never stops a channel.
 */
export class ProviderChoice {
  readonly #parts: ProviderChoiceOptions
  /** Monotonic time in milliseconds until which a provider rests, by its code. */
  readonly #restsUntil = new Map<string, number>()
  #turn = 0

  constructor(parts: ProviderChoiceOptions) {
    this.#parts = parts
  }

  /** Returns the order in which the providers would be tried now. With `single`, only the first one is tried. */
  order(providers: readonly string[], strategy: ProviderStrategy): readonly string[] {
    if (strategy === 'single') return providers.slice(0, 1)
    const start = strategy === 'round-robin' && providers.length > 0 ? this.#turn % providers.length : 0
    const turned = [...providers.slice(start), ...providers.slice(0, start)]
    return turned.sort((a, b) => this.restsFor(a) - this.restsFor(b))
  }

  /** Returns the milliseconds for which a provider still rests; 0 if it does not rest. */
  restsFor(provider: string): number {
    return Math.max(0, (this.#restsUntil.get(provider) ?? 0) - this.#parts.clock.monotonic())
  }

  /**
   * Tries providers until one delivers. Stops after `unknown`, because the message may have been delivered. If all
   * fail, the outcome is `deferred` if any was, with the shortest wait. The error message lists all attempts.
   *
   * @param providers at least one
   * @param signal if it aborts, no further provider is tried
   * @param attempt sends through one provider; it must log failures and never throw
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
  // Gives no waiting time if one of the providers may be tried again immediately.
  const retryAfterMs = waits.length === deferred.length ? Math.min(...waits) : undefined
  const { retryAfterMs: _, isAttempted: __, ...failure } = last
  const isAttempted = outcomes.some((outcome) => outcome.outcome !== 'deferred' || outcome.isAttempted !== false)
  return {
    ...failure,
    errorMessage,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(isAttempted ? {} : { isAttempted }),
  }
}
