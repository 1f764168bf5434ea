import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { CallerAddresses } from './client-ip.ts'

/**
 * Whose page made a browser send a request: one of this product, one of another site, or nobody knows, as for programs,
 * which send neither `Origin` nor `Sec-Fetch-Site`.
 */
export function pageOrigin({ headers, calledHost }: Pick<FastifyRequest, 'headers' | 'calledHost'>) {
  const site = headers['sec-fetch-site']
  // No page can write this header, so what it says is so, also behind a proxy that hides the host.
  if (site === 'same-origin') return 'own'
  if (site !== undefined && site !== 'none') return 'foreign'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const from = URL.parse(origin)
  // The scheme of the page decides which port goes without saying.
  const isOwn = from !== null && from.host !== '' && from.host === URL.parse(`${from.protocol}//${calledHost}`)?.host
  return isOwn ? 'own' : 'foreign'
}

type Message = Pick<IncomingMessage, 'headers' | 'socket'>

/** What lies in front of the product. */
export interface Forwarding {
  /** Path that a browser writes before ours: empty, or `/shop`. */
  contextPath(message: Message): string
  /** Whether the browser speaks HTTPS, to us or to a trusted proxy. */
  isHttps(message: Message): boolean
  /** Host that the browser called, as a trusted proxy says or as it reached us. */
  host(message: Message): string
  /** Takes the configured context path off a URL; proxies may have done so already. Absent when none is configured. */
  readonly strip: ((url: string) => string) | undefined
}

/** One or more segments without escapes, none of them dots alone. */
export const contextPathPattern = '^(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$'
const wellFormed = new RegExp(contextPathPattern)

/**
 * @param addresses says whose headers are believed: `X-Forwarded-Prefix`, `-Proto`, `-Host`
 * @param configured context path of the product; empty for none
 */
export function createForwarding(addresses: Pick<CallerAddresses, 'peer'>, configured: string): Forwarding {
  const said = ({ headers, socket }: Message, name: string): string => {
    const value = headers[name]
    if (typeof value !== 'string' || !addresses.peer(socket.remoteAddress).isProxy) return ''
    // Proxies in a row append; the first is the one that the browser spoke to.
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
