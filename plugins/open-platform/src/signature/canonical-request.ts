import { createHmac, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { refusal } from '../failures.ts'

/**
 * The signature of the open platform (decision A25). Header names, canonical text, tolerance and error reasons are part
 * of the contract of `/api/v1` and never change within it (C-049). `signature-vectors.json` beside the sources has
 * examples that the server and the example clients are tested with.
 */
export const signatureHeaders = {
  appKey: 'X-Open-App-Key',
  timestamp: 'X-Open-Timestamp',
  nonce: 'X-Open-Nonce',
  signature: 'X-Open-Signature',
} as const

/** The lines of the text that is signed, in their order. The API description contains them. */
export const canonicalLines = ['method', 'path', 'sorted query', 'SHA-256 of the body', 'timestamp', 'nonce'] as const

/** How far the timestamp of a request may lie from the clock of the server, either way. */
export const timestampToleranceMs = 300_000

/** What is signed. */
export interface RequestToSign {
  /** In upper case. */
  readonly method: string
  /** Path, from `/api/` on, and query as they stand in the request line. */
  readonly target: string
  /** As sent, before any decoding; empty without a body. */
  readonly body: Uint8Array
  /** Seconds since the epoch, as in the header. */
  readonly timestamp: string
  readonly nonce: string
}

/**
 * The text that is signed: method, path, sorted query, SHA-256 of the body in lower-case hex, timestamp and nonce, one a
 * line, without a line break at the end. `undefined` when the query is not well-formed percent-encoded UTF-8 or the target has a `#`.
 *
 * The path is signed as it is sent, percent-encoding included, but without the context path of the product: a proxy may or
 * may not take that off, and a signature must not depend on it.
 */
export function canonicalRequest({ method, target, body, timestamp, nonce }: RequestToSign): string | undefined {
  // The router ends the path at a `#`, which no client sends.
  if (target.includes('#')) return undefined
  const [path, query] = splitTarget(target)
  const sorted = canonicalQuery(query)
  if (sorted === undefined) return undefined
  return [method, path, sorted, hash('sha256', body, 'hex'), timestamp, nonce].join('\n')
}

/**
 * The query in one form, whatever form it was sent in. Parts are separated by `&`, name and value by the first `=`; a `+`
 * is a space; both are percent-decoded as UTF-8 and encoded again as RFC 3986 says: everything but letters, digits and
 * `-._~` as `%XX` in upper case. A part without `=` has an empty value, an empty part is left out. Parts are sorted by
 * encoded name, then by encoded value, byte by byte, and joined again; all of them, so a repeated name stays repeated.
 *
 * `undefined` when something is no well-formed percent-encoded UTF-8.
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

/** HMAC-SHA256 of the canonical text under the secret as it was shown (its UTF-8 bytes), in lower-case hex. */
export function signatureOf(secret: string, canonical: string): string {
  return createHmac('sha256', secret).update(canonical, 'utf8').digest('hex')
}

function splitTarget(target: string): readonly [path: string, query: string] {
  const mark = target.indexOf('?')
  return mark === -1 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)]
}

/** Encoded texts are ASCII, so code units are bytes. */
const order = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** A name or value without anything that could be written in two ways. */
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

/** What a signed request says about itself, well-formed but not yet believed. */
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

/** Throws "401" `open-platform.header-missing` with all that are missing, or `open-platform.header-invalid`. */
export function readSignedHeaders(headers: IncomingHttpHeaders): SignedHeaders {
  const missing = names.filter((name) => !headerValue(headers, name))
  if (missing.length > 0) {
    const listed = missing.map((name) => signatureHeaders[name])
    throw refusal('header-missing', { params: { headers: listed.join(', ') }, data: { headers: listed } })
  }
  const read = (name: keyof SignedHeaders): string => {
    const value = headerValue(headers, name)
    // A header that was sent twice arrives as one text with a comma, or as a list.
    if (typeof value === 'string' && wellFormed[name].test(value)) return value
    const header = signatureHeaders[name]
    throw refusal('header-invalid', { params: { header }, data: { header } })
  }
  return { appKey: read('appKey'), timestamp: read('timestamp'), nonce: read('nonce'), signature: read('signature') }
}

/**
 * Throws "401" `open-platform.timestamp-out-of-range` with the time of this server.
 *
 * @param now milliseconds since the epoch
 */
export function assertFresh({ timestamp }: SignedHeaders, now: number): void {
  if (Math.abs(Number(timestamp) * 1000 - now) <= timestampToleranceMs) return
  throw refusal('timestamp-out-of-range', {
    params: { seconds: timestampToleranceMs / 1000 },
    data: { serverTime: Math.floor(now / 1000) },
  })
}
