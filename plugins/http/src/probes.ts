import type { FastifyReply } from 'fastify'
import type { Registry } from 'prom-client'
import type { AddressSet } from './address-set.ts'
import { sendFailure } from './app.ts'
import type { RawRouteDeclaration } from './contract.ts'
import { envelopeType, noSniff, success } from './envelope.ts'
import type { Readiness } from './health.ts'
import { ownText, type Say } from './texts.ts'

export interface ProbeSources {
  readonly readiness: Readiness
  readonly isDraining: () => boolean
  readonly say: Say
  /** Absent when metrics are off. */
  readonly registry: Registry | undefined
  readonly metricsReaders: AddressSet
}

const notReadyKey = 'messages.http.not-ready'

/** Liveness, readiness and metrics. HTTP status matters here: what asks are machines that read nothing else. */
export function probeRoutes({
  readiness,
  isDraining,
  say,
  registry,
  metricsReaders,
}: ProbeSources): RawRouteDeclaration[] {
  const probe = { method: 'GET', access: 'public', hidden: true } as const
  const live: RawRouteDeclaration = {
    ...probe,
    path: '/health/live',
    summary: 'Whether the process runs',
    produces: [envelopeType],
    handler: (_request, reply) => sendReady(reply),
  }
  const ready: RawRouteDeclaration = {
    ...probe,
    path: '/health/ready',
    summary: 'Whether the product can do its work; 503 while it cannot or drains',
    produces: [envelopeType],
    async handler(request, reply) {
      if (!isDraining() && (await readiness.isReady())) return sendReady(reply)
      const message = say(request.locale, notReadyKey, {}, ownText(notReadyKey))
      request.failureCode = '503'
      sendFailure({ status: 503, code: '503', kind: 'transport', message, data: { reason: 'http.not-ready' } }, reply)
      return reply
    },
  }
  if (registry === undefined) return [live, ready]
  const metrics: RawRouteDeclaration = {
    ...probe,
    path: '/metrics',
    summary: 'Prometheus metrics',
    produces: [registry.contentType],
    async handler(request, reply) {
      if (!metricsReaders.has(request.clientIp)) return reply.callNotFound()
      return reply.type(registry.contentType).send(await registry.metrics())
    },
  }
  return [live, ready, metrics]
}

const sendReady = (reply: FastifyReply) => reply.header(noSniff.name, noSniff.value).send(success(null))
