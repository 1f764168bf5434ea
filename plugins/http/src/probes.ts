import type { FastifyReply } from 'fastify'
import type { Registry } from 'prom-client'
import type { AddressSet } from './caller/address-set.ts'
import { envelopeType, noSniff, success } from './envelope.ts'
import type { Readiness } from './health.ts'
import { type Route, routesWith } from './routes/declaration.ts'
import { sendFailure } from './server/app.ts'
import { ownText, type Say } from './texts.ts'

interface HealthSources {
  readonly readiness: Readiness
  readonly isDraining: () => boolean
  readonly say: Say
}

const { rawRoute } = routesWith()
const probe = { method: 'GET', access: 'public', hidden: true } as const
const notReadyKey = 'messages.http.not-ready'

/** Liveness and readiness. HTTP status matters here: what asks are machines that read nothing else. */
export const healthRoutes = ({ readiness, isDraining, say }: HealthSources): readonly Route[] => [
  rawRoute({
    ...probe,
    path: '/health/live',
    summary: 'Whether the process runs',
    produces: [envelopeType],
    handler: (_request, _, reply) => sendReady(reply),
  }),
  rawRoute({
    ...probe,
    path: '/health/ready',
    summary: 'Whether the product can do its work; 503 while it cannot or drains',
    produces: [envelopeType],
    async handler(request, _, reply) {
      if (!isDraining() && (await readiness.isReady())) return sendReady(reply)
      const message = say(request.locale, notReadyKey, {}, ownText(notReadyKey))
      request.failureCode = '503'
      sendFailure({ status: 503, code: '503', kind: 'transport', message, data: { reason: 'http.not-ready' } }, reply)
      return reply
    },
  }),
]

/** The metrics, for the clients that may read them. */
export const metricsRoute = (registry: Registry, readers: AddressSet): Route =>
  rawRoute({
    ...probe,
    path: '/metrics',
    summary: 'Prometheus metrics',
    produces: [registry.contentType],
    async handler(request, _, reply) {
      if (!readers.has(request.clientIp)) return reply.callNotFound()
      return reply.type(registry.contentType).send(await registry.metrics())
    },
  })

const sendReady = (reply: FastifyReply) => reply.header(noSniff.name, noSniff.value).send(success(null))
