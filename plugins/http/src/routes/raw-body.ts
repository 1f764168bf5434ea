import type { FastifyInstance } from 'fastify'
import { acceptJsonAlone } from '../server/json-body.ts'

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
