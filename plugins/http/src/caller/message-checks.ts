import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TransportError } from '../envelope.ts'

/**
 * Rejects an HTTP/1.1 request without a Host header, and any request with two (RFC 9112, section 3.2). Proxies and
 * servers may choose different ones of two, and then route or cache by different names.
 */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): TransportError | undefined {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined
  return new TransportError('hostAmbiguous')
}

/**
 * Rejects any transfer coding other than `chunked`, and any in HTTP/1.0 (RFC 9112, section 6.1). Another server on the
 * path may read such a body differently.
 */
export function transferProblem({ headers, httpVersion }: IncomingMessage): TransportError | undefined {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return new TransportError('transferEncodingVersion')
  return coding.trim().toLowerCase() === 'chunked' ? undefined : new TransportError('transferEncoding')
}

/** Header of the trace id in requests and responses. */
export const traceHeader = 'x-trace-id'

/** Letters, digits, dot, underscore and hyphen. They are safe in log lines, headers and queries. */
const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Returns the caller's trace id if it is well formed, otherwise a new UUID (decision A27). */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[traceHeader]
  return typeof given === 'string' && safe.test(given) ? given : nextUuid()
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let prefix = ''
let issued = 0

/**
 * Returns a UUID whose last two bytes are a counter. The rest is random and changes after 65536 ids. A trace id must be
 * unique, not secret. A random UUID for each request would cost a fast route 3 % of its throughput.
 */
function nextUuid(): string {
  if ((issued & 0xffff) === 0) prefix = randomUUID().slice(0, -4)
  const id = prefix + hex[(issued >> 8) & 0xff] + hex[issued & 0xff]
  issued++
  return id
}
