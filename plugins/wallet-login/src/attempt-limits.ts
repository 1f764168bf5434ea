import { hash } from 'node:crypto'
import type { LoginGuard } from '@plinth/iam'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { WalletLoginConfig } from './config.ts'
import type { UnusualAttempts } from './unusual-attempts.ts'

/** Name of this login method for the audit and the login guards. */
export const method = 'wallet'

/** The limited calls. */
export type LimitedStep = 'challenge' | 'login'

interface LimitParts {
  readonly limiter: Pick<RateLimiter, 'assertAllAllowed' | 'addressKey' | 'reset'>
  readonly config: WalletLoginConfig
  readonly unusual: Pick<UnusualAttempts, 'noticed'>
}

interface Attempt {
  readonly identifier: string
  readonly clientIp: string
}

const root = 'platform.wallet-login.rate-limit'

/**
 * Limits of wallet logins (decision F.6). A wallet address is public and unproven, so a limit by wallet alone would let
 * a stranger lock out the owner. Challenges and logins are limited per network address, and failed logins per network
 * address and wallet together. The total count only raises an alert. If the limiter cannot count, the attempt is
 * rejected: a login costs curve arithmetic, and a challenge costs an entry in the shared store.
 */
export class AttemptLimits {
  readonly #parts: LimitParts

  constructor(parts: LimitParts) {
    this.#parts = parts
  }

  /** Limits of logins. A login counts as failed before it is checked. A successful login resets the count. */
  get guard(): LoginGuard {
    return {
      beforeAttempt: async (attempt) => {
        if (attempt.method === method)
          await this.#assertAllowed('login', attempt.clientIp, [this.#failedLogins(attempt)])
      },
      afterAttempt: async (attempt, { success }) => {
        if (attempt.method !== method || !success) return
        // The login has succeeded. If the reset fails, the count expires with its window.
        await this.#parts.limiter.reset(this.#failedLogins(attempt)).catch(() => undefined)
      },
    }
  }

  /** @throws BusinessError "429" `rate-limit.exceeded`; "503" `rate-limit.store-unavailable` */
  assertChallengeAllowed(clientIp: string): Promise<void> {
    return this.#assertAllowed('challenge', clientIp, [])
  }

  async #assertAllowed(step: LimitedStep, clientIp: string, limits: readonly ConsumeRequest[]): Promise<void> {
    const { limiter, config, unusual } = this.#parts
    const window = { windowMs: config.get(`${root}.ip-window`), failurePolicy: 'closed' as const }
    const ofNetwork = {
      key: `wallet-login:${step}:ip:${limiter.addressKey(clientIp)}`,
      ...window,
      maxAttempts: config.get(`${root}.ip-max-attempts`),
    }
    const alertAttempts = config.get(`${root}.alert-attempts`)
    const ofAll = { key: `wallet-login:${step}:all`, ...window, maxAttempts: alertAttempts, shadow: true }
    const results = await limiter.assertAllAllowed([...limits, ofNetwork, ofAll])
    if (results.at(-1)?.shadowed) unusual.noticed(step, { attempts: alertAttempts, windowMs: window.windowMs })
  }

  #failedLogins({ identifier, clientIp }: Attempt): ConsumeRequest {
    const { limiter, config } = this.#parts
    const wallet = hash('sha256', identifier.toLowerCase())
    return {
      key: `wallet-login:failed:${limiter.addressKey(clientIp)}:${wallet}`,
      maxAttempts: config.get(`${root}.address-max-attempts`),
      windowMs: config.get(`${root}.address-window`),
      failurePolicy: 'closed',
    }
  }
}
