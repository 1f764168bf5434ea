import { hash } from 'node:crypto'
import type { ConfigView } from '@plinth/kernel'
import type { RateLimiter } from '@plinth/rate-limit'
import { foldedIdentifier } from '../accounts/account-names.ts'
import type { keys } from '../config.ts'
import type { LoginGuard } from '../contract.ts'

/** Attempts that prove a password: a guess costs the same whichever way it is made. */
const limitedMethods: ReadonlySet<string> = new Set(['password', 'password-change', 'email-change'])

/** One budget for every name that an account answers to; an unknown name has one for all of its spellings. */
const accountKey = (userId: number | null, identifier: string) =>
  hash('sha256', userId === null ? `name ${foldedIdentifier(identifier)}` : `user ${userId}`)

/**
 * Limits attempts per account and per client address together (document 1, "Login limiter"). An attempt that one of them
 * denies costs nothing of the other. When the limiter cannot count, the attempt is refused.
 */
export function loginLimiter(limiter: RateLimiter, config: ConfigView<typeof keys>): LoginGuard {
  const root = 'platform.iam.auth.login.rate-limit'
  return {
    async beforeAttempt({ method, identifier, userId, clientIp }) {
      if (!limitedMethods.has(method)) return
      if (!config.get(`${root}.enabled`) || !config.get(`${root}.password.enabled`)) return
      const prefix = `${config.get(`${root}.key-prefix`)}:password`
      const limits = [
        {
          key: `${prefix}:account:${accountKey(userId, identifier)}`,
          maxAttempts: config.get(`${root}.password.identifier-max-attempts`),
          windowMs: config.get(`${root}.password.identifier-window`),
          failurePolicy: 'closed' as const,
        },
        {
          key: `${prefix}:ip:${limiter.addressKey(clientIp)}`,
          maxAttempts: config.get(`${root}.password.ip-max-attempts`),
          windowMs: config.get(`${root}.password.ip-window`),
          failurePolicy: 'closed' as const,
        },
      ]
      await limiter.assertAllAllowed(limits)
    },
  }
}
