import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { CallerAddresses } from './client-ip.ts'

/**
 * Returns which page made a browser send a request: a page of this product, a page of another site, or unknown.
 * Programs send neither `Origin` nor `Sec-Fetch-Site`, so they are unknown.
 */
export function pageOrigin({ headers, calledHost }: Pick<FastifyRequest, 'headers' | 'calledHost'>) {
  const site = headers['sec-fetch-site']
  // A page cannot set this header, so it is reliable even behind a proxy that hides the host.
  if (site === 'same-origin') return 'own'
  if (site !== undefined && site !== 'none') return 'foreign'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const from = URL.parse(origin)
  // The scheme of the page determines the default port.
  const isOwn = from !== null && from.host !== '' && from.host === URL.parse(`${from.protocol}//${calledHost}`)?.host
  return isOwn ? 'own' : 'foreign'
}

type Message = Pick<IncomingMessage, 'headers' | 'socket'>

/** Determines what the browser requested before proxies in front of the product changed the request. */
export interface Forwarding {
  /** Returns the path that the browser puts before the product's paths: empty, or `/shop`. */
  contextPath(message: Message): string
  /** True if the browser uses HTTPS, to the product or to a trusted proxy. */
  isHttps(message: Message): boolean
  /** Returns the host that the browser requested, as reported by a trusted proxy or by the request itself. */
  host(message: Message): string
  /**
   * Removes the configured context path from a URL. Proxies may have removed it already. Undefined if no
   * context path is configured.
   */
  readonly strip: ((url: string) => string) | undefined
}

/** Segments without escapes, or an empty path. No segment begins with a dot. */
export const contextPathPattern = '^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$'
const wellFormed = new RegExp(contextPathPattern)

/**
 * Creates the functions for requests behind proxies.
 *
 * @param addresses decides which peers may send `X-Forwarded-Prefix`, `-Proto` and `-Host`
 * @param configured context path of the product; empty for none
 */
export function createForwarding(addresses: Pick<CallerAddresses, 'peer'>, configured: string): Forwarding {
  const said = ({ headers, socket }: Message, name: string): string => {
    const value = headers[name]
    if (typeof value !== 'string' || !addresses.peer(socket.remoteAddress).isProxy) return ''
    // Each proxy appends a value. The first value comes from the proxy that the browser called.
    return (value.split(',', 1)[0] ?? '').trim()
  }
  return {
    contextPath(message) {
      const prefix = said(message, 'x-forwarded-prefix').replace(/\/+$/, '')
      return prefix !== '' && wellFormed.test(prefix) ? prefix : configured
    },
    isHttps: (message) => 'encrypted' in message.socket || said(message, 'x-forwarded-proto').toLowerCase() === 'https',
    host: (message) => said(message, 'x-forwarded-host') || (message.headers.host ?? ''),
    strip: configured === '' ? undefined : (url) => withoutPrefix(url, configured),
  }
}

function withoutPrefix(url: string, prefix: string): string {
  if (!url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}
