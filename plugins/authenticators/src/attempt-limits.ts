import type { LoginGuard } from '@plinth/iam'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { AuthenticatorConfig } from './config.ts'

/**
 * Methods of attempts in the login audit. A second factor of a sign-in and a fresh proof have different names, so that
 * the audit shows what the user did.
 */
export const attemptMethods = {
  passkeyLogin: 'passkey',
  passkey: 'passkey-second',
  totp: 'totp-second',
  recoveryCode: 'recovery-code',
  passkeySetUp: 'passkey-set-up',
  totpSetUp: 'totp-set-up',
  passkeyProof: 'passkey-proof',
  totpProof: 'totp-proof',
} as const

const limitedMethods: ReadonlySet<string> = new Set(Object.values(attemptMethods))
const root = 'platform.authenticators.rate-limit'

/**
 * Limits of second factors and passkeys. Failures count per network, and per account and network together, so that a
 * stranger on another network cannot use up the limit of the owner. An account only counts after its first factor or in a
 * session: anybody can send the id of any passkey. Callers without a first factor have limits of their own, so that they
 * cannot use up those of users on the same network. If the limiter fails, attempts are rejected.
 */
export class AttemptLimits {
  readonly #limiter: RateLimiter
  readonly #config: AuthenticatorConfig

  constructor(limiter: RateLimiter, config: AuthenticatorConfig) {
    this.#limiter = limiter
    this.#config = config
  }

  /** Counts each attempt before it is checked. A success returns the attempt. */
  get guard(): LoginGuard {
    const limitsOf = ({ method, clientIp, userId }: Parameters<LoginGuard['beforeAttempt']>[0]) => {
      if (!limitedMethods.has(method)) return []
      return userId === null || method === attemptMethods.passkeyLogin
        ? [this.#perNetwork('sign-in', clientIp)]
        : [this.#perNetwork('attempt', clientIp), this.#perAccount(userId, clientIp)]
    }
    return {
      beforeAttempt: async (attempt) => void (await this.#limiter.assertAllAllowed(limitsOf(attempt))),
      afterAttempt: async (attempt, { success }) => {
        if (success) await this.#limiter.refund(limitsOf(attempt))
      },
    }
  }

  /**
   * @param userId user with a first factor or a session, who has a limit of the own account on this network
   * @throws BusinessError "429" `rate-limit.exceeded`; "503" `rate-limit.store-unavailable`
   */
  async assertChallengeAllowed(clientIp: string, userId?: number): Promise<void> {
    const step = userId === undefined ? 'challenge' : `challenge:user:${userId}`
    await this.#limiter.assertAllAllowed([this.#perNetwork(step, clientIp)])
  }

  #perNetwork(step: string, clientIp: string): ConsumeRequest {
    return {
      key: `authenticators:${step}:ip:${this.#limiter.addressKey(clientIp)}`,
      maxAttempts: this.#config.get(`${root}.ip-max-attempts`),
      windowMs: this.#config.get(`${root}.window`),
      failurePolicy: 'closed',
    }
  }

  #perAccount(userId: number, clientIp: string): ConsumeRequest {
    return {
      key: `authenticators:attempt:user:${userId}:${this.#limiter.addressKey(clientIp)}`,
      maxAttempts: this.#config.get(`${root}.account-max-attempts`),
      windowMs: this.#config.get(`${root}.window`),
      failurePolicy: 'closed',
    }
  }
}
