import { type HttpReply, type HttpRequest, instant, Type } from '@plinth/http'
import type { Static } from 'typebox'
import type { Session } from '../contract.ts'
import { answerByCookie, assertOwnPage } from './session-cookie.ts'

/** Member of the body of a login: how the session is handed over (decision E13). */
export const sessionChoice = Type.Optional(
  Type.Enum(['token', 'cookie'], {
    description:
      '`token` (default) answers the token. `cookie` sets it as a cookie for pages of this site; the request ' +
      'must then prove its origin by `Origin` or `Sec-Fetch-Site`, as must every write that comes with the cookie.',
  }),
)

/** Answer of a login, whatever proved the identity. */
export const openedSession = Type.Object({
  accessToken: Type.Union([Type.String(), Type.Null()], {
    description: 'For the header `Authorization: Bearer`. Shown here only; null when it is in the cookie.',
    'x-null-with': ['session'],
  }),
  tokenType: Type.Literal('Bearer'),
  expiresAt: instant,
})

type Choice = Static<typeof sessionChoice> | undefined

/**
 * Before the login: a cookie is for pages of this site alone.
 *
 * @throws BusinessError "403" `iam.origin-unproven`
 */
export function assertSessionAnswerable(choice: Choice, request: Parameters<typeof assertOwnPage>[0]): void {
  if (choice === 'cookie') assertOwnPage(request)
}

/** After it: the session as the caller asked for it. */
export function answerSession(
  opened: Session,
  choice: Choice,
  request: Pick<HttpRequest, 'contextPath' | 'isHttps'>,
  reply: HttpReply,
): Static<typeof openedSession> {
  return choice === 'cookie' ? answerByCookie(opened, request, reply) : opened
}
