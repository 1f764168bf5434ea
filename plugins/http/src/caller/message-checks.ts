import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TransportFault } from '../envelope.ts'

/**
 * RFC 9112, section 3.2: a request of HTTP/1.1 without a Host header, or any with two, is refused. Of two, proxies and
 * servers choose differently, so that one would route or cache by a name that the other never saw.
 */
export function hostFault({ rawHeaders, httpVersion }: IncomingMessage): TransportFault | undefined {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined
  return new TransportFault('hostAmbiguous')
}

/**
 * RFC 9112, section 6.1: the only transfer coding of a request is `chunked`, and HTTP/1.0 has none. Another server on the way may
 * read such a body differently.
 */
export function transferFault({ headers, httpVersion }: IncomingMessage): TransportFault | undefined {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return new TransportFault('transferEncodingVersion')
  return coding.trim().toLowerCase() === 'chunked' ? undefined : new TransportFault('transferEncoding')
}

/** Name of the header that carries the trace id, both ways. */
export const traceHeader = 'x-trace-id'

/** Letters, digits, dot, underscore, hyphen: nothing that could break a log line, a header or a query. */
const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The caller's trace id when it is well formed, else a new UUID (decision A27). */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers[traceHeader]
  return typeof given === 'string' && safe.test(given) ? given : nextUuid()
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let prefix = ''
let issued = 0

/**
 * A UUID whose last two bytes count up under a random rest, which is drawn anew every 65536 ids. A trace id must be
 * unique, not secret, and a random UUID for each request would cost a fast route 3 % of its throughput.
 */
function nextUuid(): string {
  if ((issued & 0xffff) === 0) prefix = randomUUID().slice(0, -4)
  const id = prefix + hex[(issued >> 8) & 0xff] + hex[issued & 0xff]
  issued++
  return id
}
