import { hash } from 'node:crypto'
import type { LoginGuard } from '@plinth/iam'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { WalletLoginConfig } from './config.ts'
import type { UnusualAttempts } from './unusual-attempts.ts'

/** How the audit and the guards of logins call what comes through this plugin. */
export const method = 'wallet'

/** The calls that are counted. */
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
 * Limits of wallet logins (decision F.6). A wallet address is public and a caller merely claims it, so no limit is counted by
 * wallet alone: a stranger would use it up for the owner. Challenges and logins are limited per network address, and failed
 * logins per network address and wallet together. The count of all attempts raises an alert only. When the limiter cannot
 * count, the attempt is rejected: a login costs curve arithmetic, and a challenge a row that all instances share.
 */
export class AttemptLimits {
  readonly #parts: LimitParts

  constructor(parts: LimitParts) {
    this.#parts = parts
  }

  /** Limits of logins. A login is counted as failed before it is checked, and the count ends when one succeeds. */
  get guard(): LoginGuard {
    return {
      beforeAttempt: async (attempt) => {
        if (attempt.method === method)
          await this.#assertAllowed('login', attempt.clientIp, [this.#failedLogins(attempt)])
      },
      afterAttempt: async (attempt, { success }) => {
        if (attempt.method !== method || !success) return
        // The login has succeeded. A count that cannot be reset ends with its window.
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
