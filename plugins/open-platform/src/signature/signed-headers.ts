import type { IncomingHttpHeaders } from 'node:http'
import { refusal } from '../failures.ts'
import { signatureHeaders, timestampToleranceMs } from './canonical-request.ts'

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
const names = Object.keys(signatureHeaders) as (keyof SignedHeaders)[]
const headerOf = Object.fromEntries(names.map((name) => [name, signatureHeaders[name].toLowerCase()])) as Readonly<
  Record<keyof SignedHeaders, string>
>

/** Throws "401" `open-platform.header-missing` with all that are missing, or `open-platform.header-invalid`. */
export function readSignedHeaders(headers: IncomingHttpHeaders): SignedHeaders {
  const missing = names.filter((name) => !headers[headerOf[name]])
  if (missing.length > 0) {
    const listed = missing.map((name) => signatureHeaders[name])
    throw refusal('header-missing', { params: { headers: listed.join(', ') }, data: { headers: listed } })
  }
  const read = (name: keyof SignedHeaders): string => {
    const value = headers[headerOf[name]]
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
