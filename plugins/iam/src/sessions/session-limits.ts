import type { ConfigView } from '@plinth/kernel'
import type { SignInPolicy } from '../access/sign-in-policy.ts'
import type { keys } from '../config.ts'
import type { Token } from '../entities.ts'

type StoredSession = Pick<Token, 'createdAt' | 'expiresAt' | 'secondFactor'>

/**
 * Returns the time at which a session ends, in milliseconds since the epoch. The rules of the roles apply when the
 * session is used, so a new role also shortens running sessions.
 */
export function endOfSession(
  { createdAt, expiresAt, secondFactor }: StoredSession,
  { sessionLifetime = Number.POSITIVE_INFINITY, secondFactorFrom = Number.POSITIVE_INFINITY }: SignInPolicy,
): number {
  const byRole = createdAt.getTime() + sessionLifetime
  const withoutFactor = secondFactor == null ? secondFactorFrom : Number.POSITIVE_INFINITY
  return Math.min(expiresAt.getTime(), byRole, withoutFactor)
}

/** Returns the idle time in milliseconds after which a session ends. */
export function idleTimeoutOf(
  config: ConfigView<typeof keys>,
  { sessionIdleTimeout = Number.POSITIVE_INFINITY }: SignInPolicy,
): number {
  return Math.min(config.get('platform.iam.token.idle-timeout'), sessionIdleTimeout)
}

/** Returns whether a session that has not been revoked is neither expired nor idle. */
export const isSessionAlive = (
  session: StoredSession & Pick<Token, 'lastSeenAt'>,
  policy: SignInPolicy,
  { now, config }: { readonly now: number; readonly config: ConfigView<typeof keys> },
): boolean => now < endOfSession(session, policy) && now - session.lastSeenAt.getTime() < idleTimeoutOf(config, policy)
