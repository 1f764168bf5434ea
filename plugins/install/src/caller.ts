import { AddressSet, normalizeAddress } from '@plinth/http'
import type { Principal } from '@plinth/iam'
import type { HttpRequest } from './http-types.ts'

/** What is known of whoever calls. */
export interface Caller {
  /** User name of an administrator, or what acts without a user. */
  readonly operator: string
  readonly clientIp: string
  readonly userAgent: string
  readonly traceId: string
  readonly locale: string
  readonly isHttps: boolean
  /** Path that stands before the product's own: empty, or `/shop`. */
  readonly prefix: string
  /** The caller sits at this very machine, with no proxy in between as far as can be told. */
  readonly isLocal: boolean
}

/** Whoever installs has no user yet. */
export const installerName = 'install'

/** Nobody calls over HTTP: a command of the program. */
export const commandCaller = (locale: string): Caller => ({
  ...{ operator: 'cli', clientIp: '', userAgent: '', traceId: '', prefix: '' },
  locale,
  isHttps: true,
  isLocal: true,
})

type Request = Pick<HttpRequest, 'headers' | 'raw' | 'clientIp' | 'traceId' | 'locale' | 'isHttps' | 'contextPath'>

const loopback = new AddressSet(['127.0.0.0/8', '::1/128'])
const loopbackHost = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'cf-connecting-ip', 'x-forwarded-host', 'via']

export function callerOf(request: Request & { readonly principal?: Principal | undefined }): Caller {
  const { clientIp, traceId, locale, isHttps, headers, principal } = request
  return {
    ...{ clientIp, traceId, locale, isHttps },
    operator: principal?.username ?? installerName,
    userAgent: headers['user-agent'] ?? '',
    prefix: request.contextPath,
    isLocal: isLocal(request),
  }
}

/** A page of another site may have led a browser here by a name of its own, so the name has to be this machine's too. */
function isLocal({ headers, raw }: Request): boolean {
  const peer = normalizeAddress(raw.socket.remoteAddress ?? '')
  const isNear = peer !== undefined && loopback.has(peer) && loopbackHost.test(headers.host ?? '')
  return isNear && proxyHeaders.every((name) => headers[name] === undefined)
}
