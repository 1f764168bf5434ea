import { createHash } from 'node:crypto'
import { FailureLog, type Logger } from '@plinth/kernel'
import type { RateLimiter } from '@plinth/rate-limit'
import type { WebhookProvider } from './contract.ts'

/**
 * Holds what is sent to one endpoint within the limits of its provider, over all instances. Without a limiter, or when it
 * fails, messages are sent: a provider that has too many says so itself.
 */
export class EndpointLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #failures: FailureLog

  constructor(limiter: RateLimiter | undefined, log: Logger) {
    this.#limiter = limiter
    this.#failures = new FailureLog(log, {
      failing: 'webhooks are sent without their rate limits, because the limiter fails',
      over: 'the rate limits of webhooks hold again',
    })
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
      return allowed ? undefined : Math.max(1, ...results.map(({ retryAfter }) => Math.ceil(retryAfter)))
    } catch (error) {
      this.#failures.failed(error)
      return undefined
    }
  }
}
