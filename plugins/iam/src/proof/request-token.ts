import type { HttpRequest } from '@plinth/http'
import { cookieToken } from '../sessions/session-cookie.ts'

const scheme = 'Bearer '

/** Returns the access token of a request that the access guard has admitted, from the header or the session cookie. */
export function tokenOf(request: Pick<HttpRequest, 'headers' | 'contextPath' | 'isHttps'>): string {
  const { authorization } = request.headers
  return authorization === undefined ? (cookieToken(request) ?? '') : authorization.slice(scheme.length).trim()
}
