import { Type } from 'typebox'
import { requirePrincipal } from './access-guard.ts'
import type { Actor, GuardedRequest, LoginAttempt } from './contract.ts'

type Caller = Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId' | 'headers'>

/** Text without control characters and halves of characters, which not every database can store. */
export const line = (maxLength: number, description?: string) =>
  Type.String({ maxLength, pattern: '^[^\\p{Cc}\\p{Cs}]*$', ...(description ? { description } : {}) })

/** Longer than any allowed password, so that the policy says what is wrong. */
export const password = Type.String({ minLength: 1, maxLength: 1024 })

export const nullableLine = (maxLength: number, description?: string) =>
  Type.Union([line(maxLength, description), Type.Null()])

export const id = Type.Integer({ minimum: 1 })
export const idParams = Type.Object({ id })
export const roleIds = Type.Array(id, { maxItems: 100, uniqueItems: true })
export const version = Type.Integer({ minimum: 1, description: 'Version that the change starts from.' })
export const versionQuery = Type.Object({ version: Type.Optional(version) })
export const affected = Type.Object({ affected: Type.Integer({ minimum: 0 }) })
export const nothing = Type.Null()

/** The logged-in caller as actor. */
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

const originOf = ({ clientIp, traceId, headers }: Caller) => ({
  clientIp,
  traceId,
  userAgent: headers['user-agent'] ?? '',
})
