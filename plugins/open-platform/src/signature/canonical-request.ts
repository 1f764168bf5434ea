import { createHmac, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { businessError } from '../declarations.ts'

/**
 * The signature of the open platform (decision A25). Header names, canonical text, tolerance and error reasons are part
 * of the contract of `/api/v1` and never change within it (C-049). `signature-vectors.json` next to the sources
 * contains examples, with which the server and the example clients are tested.
 */
export const signatureHeaders = {
  appKey: 'X-Open-App-Key',
  timestamp: 'X-Open-Timestamp',
  nonce: 'X-Open-Nonce',
  signature: 'X-Open-Signature',
} as const

/** The lines of the signed text, in order. The API description contains them. */
export const canonicalLines = ['method', 'path', 'sorted query', 'SHA-256 of the body', 'timestamp', 'nonce'] as const

/** Maximum difference between the timestamp of a request and the clock of the server. */
export const timestampToleranceMs = 300_000

/** The signed parts of a request. */
export interface RequestToSign {
  /** In upper case. */
  readonly method: string
  /** Path, from `/api/` on, and query as in the request line. */
  readonly target: string
  /** As sent, before decoding; empty without a body. */
  readonly body: Uint8Array
  /** Seconds since the epoch, as in the header. */
  readonly timestamp: string
  readonly nonce: string
}

/**
 * Returns the signed text: method, path, sorted query, SHA-256 of the body in lower-case hex, timestamp and nonce, one
 * per line, without a line break at the end. Returns `undefined` if the query is not well-formed percent-encoded UTF-8
 * or the target contains a `#`.
 * The path is signed as sent, with its percent-encoding, but without the context path of the product. A proxy may or
 * may not remove the context path, and the signature must not depend on it.
 */
export function canonicalRequest({ method, target, body, timestamp, nonce }: RequestToSign): string | undefined {
  // The router ends the path at a `#`, which valid clients do not send.
  if (target.includes('#')) return undefined
  const [path, query] = splitTarget(target)
  const sorted = canonicalQuery(query)
  if (sorted === undefined) return undefined
  return [method, path, sorted, hash('sha256', body, 'hex'), timestamp, nonce].join('\n')
}

/**
 * Returns the canonical form of a query. Parts are separated by `&`, name and value by the first `=`; a `+` is a space.
 * Both are percent-decoded as UTF-8 and encoded again according to RFC 3986: everything except letters, digits and
 * `-._~` as `%XX` in upper case. A part without `=` has an empty value. Empty parts are omitted. Parts are sorted by
 * encoded name, then by encoded value, byte by byte, and joined again. Repeated names stay repeated. Returns
 * `undefined` for malformed percent-encoded UTF-8.
 */
export function canonicalQuery(query: string): string | undefined {
  if (query === '') return ''
  const parts: (readonly [string, string])[] = []
  for (const part of query.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = recode(equals === -1 ? part : part.slice(0, equals))
    const value = equals === -1 ? '' : recode(part.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    parts.push([name, value])
  }
  return parts
    .sort(([a, x], [b, y]) => order(a, b) || order(x, y))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

/**
 * Returns the HMAC-SHA256 of the canonical text in lower-case hex. Its key is the UTF-8 bytes of the secret as it was
 * shown.
 */
export function signatureOf(secret: string, canonical: string): string {
  return createHmac('sha256', secret).update(canonical, 'utf8').digest('hex')
}

function splitTarget(target: string): readonly [path: string, query: string] {
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

/** Encoded texts are ASCII, so code units equal bytes. */
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** A name or value that has only one encoding. */
const plain = /^[A-Za-z0-9\-._~]*$/

function recode(text: string): string | undefined {
  if (plain.test(text)) return text
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    return encodeURIComponent(decoded).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  } catch {
    return undefined
  }
}

/** Headers of a signed request. Well-formed, but not verified yet. */
export interface SignedHeaders {
  readonly appKey: string
  /** Seconds since the epoch. */
  readonly timestamp: string
  readonly nonce: string
  readonly signature: string
}

const wellFormed: Readonly<Record<keyof SignedHeaders, RegExp>> = {
  appKey: /^[A-Za-z0-9_-]{1,32}$/,
  timestamp: /^[1-9]\d{0,11}$/,
  nonce: /^[A-Za-z0-9._~-]{16,64}$/,
  signature: /^[0-9a-f]{64}$/,
}
const names = ['appKey', 'timestamp', 'nonce', 'signature'] as const

const headerValue = (headers: IncomingHttpHeaders, name: keyof SignedHeaders) =>
  headers[signatureHeaders[name].toLowerCase()]

/** Throws "401" `open-platform.header-missing` with all missing headers, or `open-platform.header-invalid`. */
export function readSignedHeaders(headers: IncomingHttpHeaders): SignedHeaders {
  const missing = names.filter((name) => !headerValue(headers, name))
  if (missing.length > 0) {
    const listed = missing.map((name) => signatureHeaders[name])
    throw businessError('header-missing', { params: { headers: listed.join(', ') }, data: { headers: listed } })
  }
  const read = (name: keyof SignedHeaders): string => {
    const value = headerValue(headers, name)
    // A repeated header arrives as one text with a comma, or as a list.
    if (typeof value === 'string' && wellFormed[name].test(value)) return value
    const header = signatureHeaders[name]
    throw businessError('header-invalid', { params: { header }, data: { header } })
  }
  return { appKey: read('appKey'), timestamp: read('timestamp'), nonce: read('nonce'), signature: read('signature') }
}

/**
 * Throws "401" `open-platform.timestamp-out-of-range` with the time of this server.
 * @param now milliseconds since the epoch
 */
export function assertFresh({ timestamp }: SignedHeaders, now: number): void {
  if (Math.abs(Number(timestamp) * 1000 - now) <= timestampToleranceMs) return
  throw businessError('timestamp-out-of-range', {
    params: { seconds: timestampToleranceMs / 1000 },
    data: { serverTime: Math.floor(now / 1000) },
  })
}
