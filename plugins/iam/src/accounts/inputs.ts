import { id, Type } from '@plinth/http'
import { requirePrincipal } from '../access/access-guard.ts'
import type { Actor, GuardedRequest, LoginAttempt } from '../contract.ts'

type Caller = Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId' | 'headers' | 'reason'>

/** Longer than any allowed password, so that the policy reports the problem. */
export const password = Type.String({ minLength: 1, maxLength: 1024 })

export const roleIds = Type.Array(id, { maxItems: 100, uniqueItems: true })

/** Returns the signed-in caller as an actor. */
export const actorOf = (request: Caller): Actor => ({ principal: requirePrincipal(request), ...originOf(request) })

export function attemptOf(
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
