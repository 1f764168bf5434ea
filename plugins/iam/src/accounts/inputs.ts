import { id, Type } from '@plinth/http'
import { requirePrincipal } from '../access/access-guard.ts'
import type { Actor, GuardedRequest, LoginAttempt } from '../contract.ts'

type Caller = Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId' | 'headers' | 'reason'>

/** The limit is longer than any allowed password, so that the password policy reports the problem. */
export const password = Type.String({ minLength: 1, maxLength: 1024 })

export const roleIds = Type.Array(id, { maxItems: 100, uniqueItems: true })

/** Reason codes for an invalid or already used user name, e-mail address or mobile number. */
export const accountFieldReasons = ['username', 'email', 'mobile']
  .flatMap((field) => [`iam.${field}-invalid`, `iam.${field}-taken`])
  .concat('iam.username-mixed-script')

/**
 * Reason codes of a rejected attempt to prove an identity by a password. `*` stands for the reasons of guards that
 * other plugins contribute.
 */
export const passwordAttemptReasons = ['*', 'iam.busy', 'rate-limit.exceeded', 'rate-limit.store-unavailable']

/** Reason codes of a sign-in whose user needs a second factor. Every route that opens a session lists them. */
export const secondFactorReasons = [
  'iam.second-factor-impossible',
  'iam.second-factor-required',
  'iam.second-factor-unavailable',
]

export const actorOf = (request: Caller): Actor => ({ principal: requirePrincipal(request), ...originOf(request) })

export function loginAttemptOf(
  request: Caller,
  reply: { header(name: string, value: string): unknown },
  method: string,
  identifier: string,
): LoginAttempt {
  return {
    ...originOf(request),
    method,
    identifier,
    setHeader: (name, value) => {
      reply.header(name, value)
    },
  }
}

const originOf = ({ clientIp, traceId, headers, reason }: Caller) => ({
  clientIp,
  traceId,
  userAgent: headers['user-agent'] ?? '',
  ...(reason === undefined ? {} : { reason }),
})
