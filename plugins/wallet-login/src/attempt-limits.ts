import { hash } from 'node:crypto'
import type { LoginGuard } from '@plinth/iam'
import type { RateLimiter } from '@plinth/rate-limit'
import type { WalletLoginConfig } from './config.ts'

/** How the audit and the guards of logins call what comes through this plugin. */
export const method = 'wallet'

interface Attempt {
  readonly address: string
  readonly clientIp: string
}

/**
 * Limits what a caller may ask for, per wallet and per address of the network together. When the limiter cannot count, the
 * attempt is refused: every login costs curve arithmetic, every challenge a row that all instances share.
 */
export class AttemptLimits {
  readonly #limiter: Pick<RateLimiter, 'assertAllAllowed' | 'addressKey'>
  readonly #config: WalletLoginConfig

  constructor(limiter: Pick<RateLimiter, 'assertAllAllowed' | 'addressKey'>, config: WalletLoginConfig) {
    this.#limiter = limiter
    this.#config = config
  }

  /** The same limits as of a guard of logins. */
  get guard(): LoginGuard {
    return {
      beforeAttempt: async ({ method: asked, identifier, clientIp }) => {
        if (asked === method) await this.assertAllowed('login', { address: identifier, clientIp })
      },
    }
  }

  /** @throws BusinessError "429" `rate-limit.exceeded`; "503" `rate-limit.store-unavailable` */
  async assertAllowed(what: 'challenge' | 'login', { address, clientIp }: Attempt): Promise<void> {
    const prefix = `wallet-login:${what}`
    const root = 'platform.wallet-login.rate-limit'
    await this.#limiter.assertAllAllowed([
      {
        key: `${prefix}:address:${hash('sha256', address.toLowerCase())}`,
        maxAttempts: this.#config.get(`${root}.address-max-attempts`),
        windowMs: this.#config.get(`${root}.address-window`),
        failurePolicy: 'closed',
      },
      {
        key: `${prefix}:ip:${this.#limiter.addressKey(clientIp)}`,
        maxAttempts: this.#config.get(`${root}.ip-max-attempts`),
        windowMs: this.#config.get(`${root}.ip-window`),
        failurePolicy: 'closed',
      },
    ])
  }
}
