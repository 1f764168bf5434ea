import { createHash } from 'node:crypto'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { RateLimiter } from '@plinth/rate-limit'
import type { WebhookProvider } from './contract.ts'

/**
 * Applies the limits of providers to their endpoints, across all instances. Without a limiter, or if it fails, messages
 * are sent, because the provider itself rejects excess messages.
 */
export class EndpointLimits {
  readonly #limiter: RateLimiter | undefined
  readonly #failures: FailureLog
  readonly #clock: Pick<Clock, 'monotonic'>
  /** By code of the provider: end of the last rejection, in monotonic milliseconds. */
  readonly #limitedUntil = new Map<string, number>()

  constructor(limiter: RateLimiter | undefined, log: Logger, clock: Pick<Clock, 'monotonic'>) {
    this.#limiter = limiter
    this.#clock = clock
    this.#failures = new FailureLog(log, {
      failing: 'webhooks are sent without their rate limits, because the limiter fails',
      over: 'the rate limits of webhooks hold again',
    })
  }

  /** Returns the milliseconds until the last limited endpoint of a provider accepts messages; 0 if none is limited. */
  limitedFor(code: string): number {
    return Math.max(0, (this.#limitedUntil.get(code) ?? 0) - this.#clock.monotonic())
  }

  /**
   * Consumes one request.
   *
   * @param receiver returns the key of the limits: the URL and, if the provider limits per chat, the chat
   * @returns milliseconds to wait if the limit is reached
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
