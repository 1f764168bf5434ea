import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { TransportError } from '../envelope.ts'

/**
 * Stores the bytes of bodies in `request.rawBody` for the routes of this context. Parsing is the same as for other
 * routes. An invalid body (media type, size, JSON) is rejected in the same way, before any guard runs.
 */
export function keepRawBody(app: FastifyInstance): FastifyInstance {
  const nothing = Buffer.alloc(0)
  acceptJsonAlone(app, (request, body) => {
    request.rawBody = body
  })
  // Runs before the guards, which are hooks of the route.
  app.addHook('preValidation', (request, _reply, done) => {
    request.rawBody ??= nothing
    done()
  })
  return app
}

/**
 * Accepts only JSON bodies in UTF-8. Empty bodies are valid, because many operations need none and clients still send
 * the media type (decision D5). A body in another encoding is rejected, because it would be decoded incorrectly.
 *
 * @param keep receives the bytes of each body before they are parsed
 */
export function acceptJsonAlone(app: FastifyInstance, keep?: (request: FastifyRequest, body: Buffer) => void): void {
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

/** Returns an error if the headers specify an unsupported encoding or charset. */
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
