import { createHash } from 'node:crypto'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { RateLimiter } from '@plinth/rate-limit'
import type { WebhookProvider } from './contract.ts'

/**
 * Holds what is sent to one endpoint within the limits of its provider, over all instances. Without a limiter, or when it
 * fails, messages are sent: a provider that has too many says so itself.
 */
export class EndpointLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #failures: FailureLog
  readonly #clock: Pick<Clock, 'monotonic'>
  /** By code of the provider: the end of the last refusal, monotonic milliseconds. */
  readonly #limitedUntil = new Map<string, number>()

  constructor(limiter: RateLimiter | undefined, log: Logger, clock: Pick<Clock, 'monotonic'>) {
    this.#limiter = limiter
    this.#clock = clock
    this.#failures = new FailureLog(log, {
      failing: 'webhooks are sent without their rate limits, because the limiter fails',
      over: 'the rate limits of webhooks hold again',
    })
  }

  /** Milliseconds for which the last address of a provider that had too many takes no more; 0: none waits. */
  limitedFor(code: string): number {
    return Math.max(0, (this.#limitedUntil.get(code) ?? 0) - this.#clock.monotonic())
  }

  /**
   * Takes one request.
   *
   * @param receiver what the limits count by: the address, and the chat where the provider has one limit for each
   * @returns milliseconds to wait when there is none left
   */
  async take({ code, rateLimits = [] }: WebhookProvider, receiver: () => string): Promise<number | undefined> {
    if (this.#limiter === undefined || rateLimits.length === 0) return undefined
    const hash = createHash('sha256').update(receiver()).digest('hex').slice(0, 32)
    const requests = rateLimits.map(({ max, windowMs }) => ({
      key: `webhook:${code}:${hash}:${windowMs}`,
      maxAttempts: max,
      windowMs,
      failurePolicy: 'open' as const,
    }))
    try {
      const { allowed, results } = await this.#limiter.consumeAll(requests)
      this.#failures.succeeded()
      if (allowed) return undefined
      const waitMs = Math.max(1, ...results.map(({ retryAfter }) => Math.ceil(retryAfter)))
      this.#limitedUntil.set(code, this.#clock.monotonic() + waitMs)
      return waitMs
    } catch (error) {
      this.#failures.failed(error)
      return undefined
    }
  }
}
