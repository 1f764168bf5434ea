import { createHmac, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { businessError } from '../declarations.ts'

/**
 * Names of the headers of a signed request (decision A25). Names, signed text, tolerance and reason codes are part of
 * the contract of `/api/v1` and must never change in it (requirement C-049). `signature-vectors.json` contains
 * examples, which test the server and the example clients.
 */
export const signatureHeaders = {
  appKey: 'X-Open-App-Key',
  timestamp: 'X-Open-Timestamp',
  nonce: 'X-Open-Nonce',
  signature: 'X-Open-Signature',
} as const

/** Lines of the signed text in order, for the API description. */
export const canonicalLines = ['method', 'path', 'sorted query', 'SHA-256 of the body', 'timestamp', 'nonce'] as const

/** Maximum difference in milliseconds between the timestamp of a request and the clock of the server. */
export const timestampToleranceMs = 300_000

/** The signed parts of a request. */
export interface RequestToSign {
  /** HTTP method in upper case. */
  readonly method: string
  /** Path from `/api/` and query, as in the request line. */
  readonly target: string
  /** Body as sent, before decoding. Empty if the request has no body. */
  readonly body: Uint8Array
  /** Seconds since the epoch, as in the header. */
  readonly timestamp: string
  readonly nonce: string
}

/**
 * Returns the signed text: method, path, sorted query, SHA-256 of the body in lower-case hexadecimal, timestamp and
 * nonce, one per line, without a line break at the end. The path is signed as sent, but without the context path of the
 * product, because a proxy may remove the context path. Returns `undefined` if the query is not percent-encoded UTF-8
 * or the target contains a `#`.
 */
export function canonicalRequest({ method, target, body, timestamp, nonce }: RequestToSign): string | undefined {
  // The router ends the path at a `#`, which correct clients do not send.
  if (target.includes('#')) return undefined
  const [path, query] = splitTarget(target)
  const sorted = canonicalQuery(query)
  if (sorted === undefined) return undefined
  return [method, path, sorted, hash('sha256', body, 'hex'), timestamp, nonce].join('\n')
}

/**
 * Returns the canonical form of a query. `&` separates its parts, and the first `=` separates a name from its value.
 * `+` means a space. Names and values are decoded as UTF-8 and encoded again as in RFC 3986: everything except letters,
 * digits and `-._~` becomes `%XX` in upper case. A part without `=` has an empty value. Empty parts are left out. The
 * parts are sorted by encoded name, then by encoded value, byte by byte. Repeated names are kept. Returns `undefined`
 * for malformed percent-encoded UTF-8.
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

/** Returns the HMAC-SHA256 of the signed text in lower-case hexadecimal. Its key is the secret in UTF-8. */
export function signatureOf(secret: string, canonical: string): string {
  return createHmac('sha256', secret).update(canonical, 'utf8').digest('hex')
}

function splitTarget(target: string): readonly [path: string, query: string] {
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

/** Encoded texts are ASCII, so comparing code units is comparing bytes. */
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Matches a text that needs no encoding. */
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

/** Headers of a signed request. The format is checked, the signature is not. */
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

/**
 * @throws BusinessError "401" `open-platform.header-missing` with all missing headers, or
 *   `open-platform.header-invalid`
 */
export function readSignedHeaders(headers: IncomingHttpHeaders): SignedHeaders {
  const missing = names.filter((name) => !headerValue(headers, name))
  if (missing.length > 0) {
    const listed = missing.map((name) => signatureHeaders[name])
    throw businessError('header-missing', { params: { headers: listed.join(', ') }, data: { headers: listed } })
  }
  const read = (name: keyof SignedHeaders): string => {
    const value = headerValue(headers, name)
    // A repeated header arrives as a list, or as one text with commas, which the format rejects.
    if (typeof value === 'string' && wellFormed[name].test(value)) return value
    const header = signatureHeaders[name]
    throw businessError('header-invalid', { params: { header }, data: { header } })
  }
  return { appKey: read('appKey'), timestamp: read('timestamp'), nonce: read('nonce'), signature: read('signature') }
}

/**
 * @param now milliseconds since the epoch
 * @throws BusinessError "401" `open-platform.timestamp-out-of-range` with the time of this server
 */
export function assertFresh({ timestamp }: SignedHeaders, now: number): void {
  if (Math.abs(Number(timestamp) * 1000 - now) <= timestampToleranceMs) return
  throw businessError('timestamp-out-of-range', {
    params: { seconds: timestampToleranceMs / 1000 },
    data: { serverTime: Math.floor(now / 1000) },
  })
}
