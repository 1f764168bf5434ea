import type { FastifyInstance } from 'fastify'

/**
 * Makes the routes of this context keep the bytes of their bodies in `request.rawBody`. What is parsed is the same as
 * elsewhere; a body that a route elsewhere refuses (media type, size, JSON) is refused here in the same way, before any
 * guard sees it.
 */
export function keepRawBody(app: FastifyInstance): FastifyInstance {
  const parse = app.getDefaultJsonParser('error', 'error')
  const nothing = Buffer.alloc(0)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    request.rawBody = body
    if (body.length === 0) done(null, undefined)
    else parse(request, body.toString('utf8'), done)
  })
  // Runs before the guards, which are hooks of the route.
  app.addHook('preValidation', (request, _reply, done) => {
    request.rawBody ??= nothing
    done()
  })
  return app
}
