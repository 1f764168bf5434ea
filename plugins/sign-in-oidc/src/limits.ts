import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import { type OidcConfig, root } from './config.ts'

export type LimitedStep = 'start' | 'callback' | 'logout'

/**
 * Limits requests per network address. Each start and each callback may cause requests to a provider. If the limiter
 * fails, requests are rejected.
 */
export class OidcLimits {
  readonly #limiter: Pick<RateLimiter, 'assertAllAllowed' | 'refund' | 'addressKey'>
  readonly #config: OidcConfig

  constructor(limiter: Pick<RateLimiter, 'assertAllAllowed' | 'refund' | 'addressKey'>, config: OidcConfig) {
    this.#limiter = limiter
    this.#config = config
  }

  /** @throws BusinessError "429" `rate-limit.exceeded`, "503" `rate-limit.store-unavailable` */
  async take(step: LimitedStep, clientIp: string): Promise<void> {
    await this.#limiter.assertAllAllowed(this.#limitOf(step, clientIp))
  }

  /**
   * Returns what `take` has counted. All logouts of a provider come from one address, so a valid one must not count:
   * otherwise users who sign in and out often could keep the sessions of others alive.
   */
  async refund(step: LimitedStep, clientIp: string): Promise<void> {
    await this.#limiter.refund(this.#limitOf(step, clientIp))
  }

  #limitOf(step: LimitedStep, clientIp: string): readonly ConsumeRequest[] {
    return [
      {
        key: `sign-in-oidc:${step}:ip:${this.#limiter.addressKey(clientIp)}`,
        maxAttempts: this.#config.get(`${root}.rate-limit.ip-max-attempts`),
        windowMs: this.#config.get(`${root}.rate-limit.ip-window`),
        failurePolicy: 'closed',
      },
    ]
  }
}
