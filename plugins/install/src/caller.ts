import { AddressSet, type ClientIpRules, normalizeAddress } from '@plinth/http'
import type { FastifyRequest } from 'fastify'

/** What is known of whoever calls. */
export interface Caller {
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
  readonly isHttps: boolean
  /** Path that stands before the product's own: empty, or `/ctx`. */
  readonly prefix: string
  /** The peer is this very machine, with no proxy in between as far as can be told. */
  readonly isLocal: boolean
}

/** Nobody calls over HTTP: the command of the program. */
export const commandCaller = (locale: string): Caller => ({
  ...{ clientIp: '', userAgent: 'cli', traceId: '', prefix: '' },
  locale,
  isHttps: true,
  isLocal: true,
})

export type CallerReader = (request: FastifyRequest) => Caller

const safePrefix = /^(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/
const localHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'x-forwarded-host', 'via']

/** Reads callers by the rules of the product's one address resolver: what a proxy says counts when it is trusted. */
export function createCallerReader({ trustedProxies, trustForwardedHeaders }: ClientIpRules): CallerReader {
  const trusted = new AddressSet(trustedProxies)
  const loopback = new AddressSet(['127.0.0.0/8', '::1/128'])
  return (request) => {
    const { headers, raw } = request
    const peer = normalizeAddress(raw.socket.remoteAddress ?? '') ?? ''
    const isProxy = trustForwardedHeaders && peer !== '' && trusted.has(peer)
    const said = (name: string) => (isProxy ? firstOf(headers[name]) : '')
    const forwardedPrefix = said('x-forwarded-prefix').replace(/\/+$/, '')
    const isLocal =
      peer !== '' &&
      loopback.has(peer) &&
      // A page of another site may have led a browser here by a name of its own.
      localHost.test(headers.host ?? '') &&
      proxyHeaders.every((name) => headers[name] === undefined)
    return {
      clientIp: request.clientIp,
      userAgent: headers['user-agent'] ?? '',
      traceId: request.traceId,
      locale: request.locale,
      isHttps: 'encrypted' in raw.socket || said('x-forwarded-proto').toLowerCase() === 'https',
      prefix: safePrefix.test(forwardedPrefix) ? forwardedPrefix : '',
      isLocal,
    }
  }
}

/** Proxies in a row append; the first is the one that the browser spoke to. */
function firstOf(value: string | string[] | undefined): string {
  const [first = ''] = String(value ?? '').split(',')
  return first.trim()
}
