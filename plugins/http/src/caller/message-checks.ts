import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { TransportError } from '../envelope.ts'

/**
 * Rejects two `Host` headers, and HTTP/1.1 without `Host` (RFC 9112, section 3.2). Otherwise a proxy and this server
 * could route the request by different headers.
 */
export function hostProblem({ rawHeaders, httpVersion }: IncomingMessage): TransportError | undefined {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined
  return new TransportError('hostAmbiguous')
}

/**
 * Rejects transfer codings other than `chunked`, and all of them in HTTP/1.0 (RFC 9112, section 6.1). A proxy could
 * find another end of such a body than this server.
 */
export function transferProblem({ headers, httpVersion }: IncomingMessage): TransportError | undefined {
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return new TransportError('transferEncodingVersion')
  return coding.trim().toLowerCase() === 'chunked' ? undefined : new TransportError('transferEncoding')
}

export const traceHeader = 'x-trace-id'

/** Characters that are safe in log lines, headers and URLs. */
const safe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** Returns the trace id that the caller sent, if it is valid. */
export function callerTraceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const given = headers[traceHeader]
  return typeof given === 'string' && safe.test(given) ? given : undefined
}

/** Returns the trace id of the caller if it is valid, otherwise a new UUID (decision A27). */
export const traceIdOf = (request: Pick<IncomingMessage, 'headers'>): string => callerTraceIdOf(request) ?? nextUuid()

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
let prefix = ''
let issued = 0

/**
 * Returns a UUID whose last two bytes are a counter. The other bytes are random and change after 65,536 ids. A fully
 * random UUID per request would lower the throughput of a fast route by 3 %.
 */
function nextUuid(): string {
  if ((issued & 0xffff) === 0) prefix = randomUUID().slice(0, -4)
  const id = prefix + hex[(issued >> 8) & 0xff] + hex[issued & 0xff]
  issued++
  return id
}

/**
 * Provides the bytes of bodies as `request.rawBody` on the routes of this Fastify context. Bodies are parsed and
 * rejected as on other routes.
 */
export function provideRawBody(app: FastifyInstance): FastifyInstance {
  const nothing = Buffer.alloc(0)
  acceptOnlyJson(app, (request, body) => {
    request.rawBody = body
  })
  // Sets an empty body if the request has none. This hook runs before the guards, because hooks of the context run
  // before hooks of the route.
  app.addHook('preValidation', (request, _reply, done) => {
    request.rawBody ??= nothing
    done()
  })
  return app
}

/**
 * Accepts only JSON in UTF-8. Any other encoding would be decoded incorrectly. An empty body is valid, because clients
 * send the JSON media type even without a body (decision D5).
 *
 * @param keep receives the bytes of each body before they are parsed
 */
export function acceptOnlyJson(app: FastifyInstance, keep?: (request: FastifyRequest, body: Buffer) => void): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const problem = labelProblem(request) ?? (isUtf8(body) ? undefined : new TransportError('notUtf8'))
    if (problem !== undefined) return done(problem, undefined)
    keep?.(request, body)
    if (body.length === 0) done(null, undefined)
    else parse(request, body.toString('utf8'), done)
  })
}

function labelProblem({ headers }: FastifyRequest): TransportError | undefined {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    return new TransportError('contentEncoding')
  const type = headers['content-type'] ?? ''
  return type === 'application/json' || isUtf8Type(type) ? undefined : new TransportError('charset')
}

function isUtf8Type(type: string): boolean {
  try {
    return /^utf-?8$/i.test(new MIMEType(type).params.get('charset') ?? 'utf-8')
  } catch {
    return false
  }
}
