import { createHash } from 'node:crypto'
import { type HttpReply, type HttpRequest, instant, pageOrigin, Type } from '@plinth/http'
import type { Static } from 'typebox'
import type { Session } from '../contract.ts'
import { businessError } from '../declarations.ts'

/** Field of a login request that selects how the session is returned (decision E13). */
export const sessionTransportField = Type.Optional(
  Type.Enum(['token', 'cookie'], {
    description:
      '`token` (default): the response contains the token. `cookie`: the token is set as a cookie for pages of this site. ' +
      'The request, and each later write with the cookie, must then have a matching `Origin` or `Sec-Fetch-Site`.',
  }),
)

/** Response of every login method. */
export const openedSessionSchema = Type.Object({
  accessToken: Type.Union([Type.String(), Type.Null()], {
    description:
      'Access token for the header `Authorization: Bearer`. Only this response contains it. Null if the token was set as a cookie.',
    'x-null-with': ['session'],
  }),
  tokenType: Type.Literal('Bearer'),
  expiresAt: instant,
})

type Choice = Static<typeof sessionTransportField> | undefined

/**
 * Checks before a login whether the request may get a session cookie. Only pages of this site may request one.
 *
 * @throws BusinessError "403" `iam.origin-unproven`
 */
export function assertMaySetCookie(choice: Choice, request: Parameters<typeof assertSameSitePage>[0]): void {
  if (choice === 'cookie') assertSameSitePage(request)
}

/** A session that a request has just opened. */
export interface OpenedSession {
  readonly accessToken: string
  readonly transport: 'token' | 'cookie'
}

const openedSessions = new WeakMap<object, OpenedSession>()

/** Returns the session that the handler of this request has opened, or `undefined`. */
export const sessionOpenedBy = (request: object): OpenedSession | undefined => openedSessions.get(request)

/** Returns the new session of a login as a token or as a cookie. */
export function respondWithSession(
  opened: Session,
  choice: Choice,
  request: Pick<HttpRequest, 'contextPath' | 'isHttps'>,
  reply: HttpReply,
): Static<typeof openedSessionSchema> {
  openedSessions.set(request, { accessToken: opened.accessToken, transport: choice ?? 'token' })
  return returnSession(opened, choice, request, reply)
}

/** Returns a session with its token, or without it and with the cookie. */
export const returnSession = (
  { maxExpiresAt: _, ...opened }: Session,
  choice: Choice,
  request: Browser,
  reply: HttpReply,
) => (choice === 'cookie' ? respondWithCookie(opened, request, reply) : opened)

/** Name of the session cookie of a browser without HTTPS (decision E13). */
export const sessionCookie = 'plinth-session'

/** Name of the cookie by which the browser is recognised at the next sign-in. */
const deviceCookie = 'plinth-device'
/** Lifetime of the device cookie in seconds: 400 days, the maximum of browsers (RFC 6265bis, 5.5). */
const deviceCookieLifetime = 400 * 86_400

type Browser = Pick<HttpRequest, 'contextPath' | 'isHttps'>

const hashes = new Map<string, string>()

/**
 * Returns a suffix that distinguishes several products on one host, because all their cookies have the path `/`. Empty
 * for a product at the root path.
 */
function suffixOf(contextPath: string): string {
  if (contextPath === '') return ''
  const known = hashes.get(contextPath)
  if (known !== undefined) return known
  const suffix = `-${createHash('sha256').update(contextPath).digest('hex').slice(0, 12)}`
  // A trusted proxy sets the context path, so there are only few paths. The limit protects the memory from a faulty
  // proxy.
  if (hashes.size < 100) hashes.set(contextPath, suffix)
  return suffix
}

/**
 * Name and path of a cookie. With HTTPS, the name has the prefix `__Host-`, which prevents other hosts and paths from
 * setting this cookie (decision F19).
 */
const placeOf = ({ contextPath, isHttps }: Browser, cookie = sessionCookie) =>
  isHttps
    ? { name: `__Host-${cookie}${suffixOf(contextPath)}`, path: '/', secure: '; Secure' }
    : { name: cookie, path: `${contextPath}/api`, secure: '' }

const attributesOf = ({ path, secure }: { readonly path: string; readonly secure: string }) =>
  `Path=${path}; HttpOnly; SameSite=Strict${secure}`

/**
 * Only spaces and tabs are removed around a cookie name (RFC 6265, 5.2). `trim` would also remove a no-break space.
 * Then another host could set the session cookie, because browsers do not protect the prefix `__Host-` after a no-break
 * space.
 */
const outer = /^[ \t]+|[ \t]+$/g

function valuesOf(header: string | undefined, name: string): readonly string[] {
  return (header ?? '').split(';').flatMap((part) => {
    const at = part.indexOf('=')
    return part.slice(0, at).replace(outer, '') === name && at > 0 ? [part.slice(at + 1).replace(outer, '')] : []
  })
}

/**
 * Returns the token of the session cookie, or `undefined`.
 *
 * @throws BusinessError "401" `iam.session-ambiguous` for two cookies of this name, because another host or path has
 *   set one of them
 */
export function cookieToken(request: Pick<HttpRequest, 'headers'> & Browser): string | undefined {
  const [token, second] = valuesOf(request.headers.cookie, placeOf(request).name)
  if (second !== undefined) throw businessError('session-ambiguous')
  return token
}

export const hasSessionCookie = (request: Pick<HttpRequest, 'headers'> & Browser): boolean =>
  request.headers.cookie !== undefined && valuesOf(request.headers.cookie, placeOf(request).name).length > 0

export const hasAmbiguousCookie = (request: Pick<HttpRequest, 'headers'> & Browser): boolean =>
  valuesOf(request.headers.cookie, placeOf(request).name).length > 1

type Caller = Pick<HttpRequest, 'headers' | 'method' | 'calledHost'>

/**
 * Checks that a request that changes data comes from a page of this site, because browsers also send the cookie with
 * requests of other sites.
 *
 * @throws BusinessError "403" `iam.origin-unproven`
 */
export function assertSameSitePage(request: Caller): void {
  if (request.method !== 'GET' && request.method !== 'HEAD' && pageOrigin(request) !== 'own') {
    throw businessError('origin-unproven')
  }
}

/** Sets the session cookie. Returns the session without the token. */
function respondWithCookie(
  { accessToken, ...session }: Omit<Session, 'maxExpiresAt'>,
  request: Browser,
  reply: HttpReply,
) {
  const place = placeOf(request)
  reply.header('set-cookie', `${place.name}=${accessToken}; ${attributesOf(place)}`)
  return { ...session, accessToken: null }
}

/** Returns the values of the device cookie. Another host or path may have set further ones. */
export const deviceCookieValues = (request: Pick<HttpRequest, 'headers'> & Browser): readonly string[] =>
  valuesOf(request.headers.cookie, placeOf(request, deviceCookie).name)

export function setDeviceCookie(value: string, request: Browser, reply: Pick<HttpReply, 'header'>): void {
  const place = placeOf(request, deviceCookie)
  reply.header('set-cookie', `${place.name}=${value}; Max-Age=${deviceCookieLifetime}; ${attributesOf(place)}`)
}

export function clearCookie(request: Browser, reply: HttpReply): void {
  const place = placeOf(request)
  reply.header('set-cookie', `${place.name}=; Max-Age=0; ${attributesOf(place)}`)
}

/** Maximum number of paths and of parent domains for which cookies are deleted. */
const maxPaths = 8
const maxDomains = 4

/**
 * Deletes every session cookie that the browser may have sent with this request: for each prefix of the path and for
 * each parent domain.
 */
export function clearAllCookies(
  request: Browser & Pick<HttpRequest, 'url' | 'calledHost'>,
  reply: Pick<HttpReply, 'header'>,
): void {
  const { name, secure } = placeOf(request)
  const own = request.url.split('?', 1)[0] ?? ''
  // A proxy may have removed the context path from the URL.
  const whole = own.startsWith(`${request.contextPath}/`) ? own : `${request.contextPath}${own}`
  const parts = whole.split('/').filter((part) => part !== '')
  const paths = ['/', ...parts.slice(0, maxPaths).map((_, at) => `/${parts.slice(0, at + 1).join('/')}`)]
  const labels = (request.calledHost ?? '').replace(/:\d+$/, '').split('.')
  const isName = labels.length > 1 && !/^\d+$/.test(labels.at(-1) ?? '')
  const domains = isName ? labels.slice(0, -1).map((_, at) => `; Domain=${labels.slice(at).join('.')}`) : []
  const cleared = ['', ...(request.isHttps ? [] : domains.slice(-maxDomains))].flatMap((domain) =>
    paths.map((path) => `${name}=; Max-Age=0; ${attributesOf({ path, secure })}${domain}`),
  )
  reply.header('set-cookie', cleared)
}
