import type { IncomingMessage } from 'node:http'
import type { CallerAddresses } from './client-ip.ts'

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
