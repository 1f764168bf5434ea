import { isUtf8 } from 'node:buffer'
import { MIMEType } from 'node:util'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { TransportFault } from '../envelope.ts'

/**
 * Makes the routes of this context keep the bytes of their bodies in `request.rawBody`. What is parsed is the same as
 * elsewhere; a body that a route elsewhere refuses (media type, size, JSON) is refused here in the same way, before any
 * guard sees it.
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
 * Takes JSON bodies in UTF-8 and no others, also empty ones: many operations take none and clients send the media type
 * all the same (decision D5). A body in another encoding is refused instead of being read as what it is not.
 *
 * @param keep gets the bytes of each body before they are read
 */
export function acceptJsonAlone(app: FastifyInstance, keep?: (request: FastifyRequest, body: Buffer) => void): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const fault = labelFault(request) ?? (isUtf8(body) ? undefined : new TransportFault('notUtf8'))
    if (fault !== undefined) return done(fault, undefined)
    keep?.(request, body)
    if (body.length === 0) done(null, undefined)
    else parse(request, body.toString('utf8'), done)
  })
}

/** What the headers say about the form of the body, when it is not what we read. */
function labelFault({ headers }: FastifyRequest): TransportFault | undefined {
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity')
    return new TransportFault('contentEncoding')
  const type = headers['content-type'] ?? ''
  return type === 'application/json' || isUtf8Type(type) ? undefined : new TransportFault('charset')
}

function isUtf8Type(type: string): boolean {
  try {
    return /^utf-?8$/i.test(new MIMEType(type).params.get('charset') ?? 'utf-8')
  } catch {
    return false
  }
}
