import type { HttpReply, HttpRequest } from '@plinth/http'
import { pageOrigin } from '@plinth/http'
import type { Session } from '../contract.ts'
import { refusal } from '../failures.ts'

/** Name of the cookie that holds the token of a browser session (decision E13). */
export const sessionCookie = 'plinth-session'

const ours = new RegExp(`(?:^|;)\\s*${sessionCookie}=([^;]*)`)

/** The token of a browser session; `undefined` without one. */
export const cookieToken = ({ headers }: Pick<HttpRequest, 'headers'>): string | undefined =>
  ours.exec(headers.cookie ?? '')?.[1]

type Caller = Pick<HttpRequest, 'headers' | 'method' | 'calledHost'>

/**
 * A browser sends the cookie whatever page made it call, so what changes something must prove that it was one of ours.
 *
 * @throws BusinessError "403" `iam.origin-unproven`
 */
export function assertOwnPage(request: Caller): void {
  if (request.method !== 'GET' && request.method !== 'HEAD' && pageOrigin(request) !== 'own') {
    throw refusal('origin-unproven')
  }
}

type Browser = Pick<HttpRequest, 'contextPath' | 'isHttps'>

const attributes = ({ contextPath, isHttps }: Browser) =>
  `Path=${contextPath}/api; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`

/** Gives the browser the session in a cookie, and the caller the answer without the token. */
export function answerByCookie({ accessToken, ...session }: Session, request: Browser, reply: HttpReply) {
  reply.header('set-cookie', `${sessionCookie}=${accessToken}; ${attributes(request)}`)
  return { ...session, accessToken: null }
}

/** Makes the browser forget its session. */
export function clearCookie(request: Browser, reply: HttpReply): void {
  reply.header('set-cookie', `${sessionCookie}=; Max-Age=0; ${attributes(request)}`)
}
