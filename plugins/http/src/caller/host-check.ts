import type { IncomingMessage } from 'node:http'
import { TransportFault } from '../failure.ts'

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
