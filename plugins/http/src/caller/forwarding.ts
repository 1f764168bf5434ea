import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { CallerAddressResolver } from './client-ip.ts'

/**
 * Returns whether a page of this product (`own`) or of another site (`foreign`) made the browser send the request.
 * `unknown`: the caller is not a browser, so it sends neither `Origin` nor `Sec-Fetch-Site`.
 */
export function pageOrigin({ headers, calledHost }: Pick<FastifyRequest, 'headers' | 'calledHost'>) {
  const site = headers['sec-fetch-site']
  // This header is reliable: scripts cannot set it, and it does not depend on `Host`, which a proxy may change.
  if (site === 'same-origin') return 'own'
  if (site !== undefined && site !== 'none') return 'foreign'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const from = URL.parse(origin)
  // The called host is parsed with the scheme of the page, because the scheme determines the default port.
  const isOwn = from !== null && from.host !== '' && from.host === URL.parse(`${from.protocol}//${calledHost}`)?.host
  return isOwn ? 'own' : 'foreign'
}

type Message = Pick<IncomingMessage, 'headers' | 'socket'>

/** Finds out what the browser requested, even if proxies changed the request. */
export interface Forwarding {
  /**
   * Returns the context path: the part of the requested path before the paths of the product, such as `/shop`, or an
   * empty string.
   */
  contextPath(message: Message): string
  /** True if the browser uses HTTPS, either to the product itself or to a trusted proxy. */
  isHttps(message: Message): boolean
  /** Returns the host that the browser requested, from a trusted proxy or from the request itself. */
  host(message: Message): string
  /**
   * Removes the configured context path from a URL, if a proxy has not removed it already. Undefined if no context path
   * is configured.
   */
  readonly strip: ((url: string) => string) | undefined
}

/** Matches an empty path, or segments without percent escapes and leading dots. */
export const contextPathPattern = '^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$'
const wellFormed = new RegExp(contextPathPattern)

/**
 * @param addresses decides which peers may send `X-Forwarded-Prefix`, `X-Forwarded-Proto` and `X-Forwarded-Host`
 * @param configured context path of the product; empty for none
 */
export function createForwarding(addresses: Pick<CallerAddressResolver, 'peer'>, configured: string): Forwarding {
  const forwarded = ({ headers, socket }: Message, name: string): string => {
    const value = headers[name]
    if (typeof value !== 'string' || !addresses.peer(socket.remoteAddress).isProxy) return ''
    // Each proxy appends its value. The first value is from the proxy that the browser called.
    return (value.split(',', 1)[0] ?? '').trim()
  }
  return {
    contextPath(message) {
      const prefix = forwarded(message, 'x-forwarded-prefix').replace(/\/+$/, '')
      return prefix !== '' && wellFormed.test(prefix) ? prefix : configured
    },
    isHttps: (message) =>
      'encrypted' in message.socket || forwarded(message, 'x-forwarded-proto').toLowerCase() === 'https',
    host: (message) => forwarded(message, 'x-forwarded-host') || (message.headers.host ?? ''),
    strip: configured === '' ? undefined : (url) => withoutPrefix(url, configured),
  }
}

function withoutPrefix(url: string, prefix: string): string {
  if (!url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}
