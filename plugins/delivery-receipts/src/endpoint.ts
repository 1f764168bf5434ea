import { type HttpServer, rateLimited } from '@plinth/http'
import { errorReason, isBusinessError, type Logger } from '@plinth/kernel'
import { isReceiptRejected, type ReceiptSource } from './contract.ts'
import type { ReceiptIntake } from './intake.ts'
import type { ReceiptCounts } from './rejections.ts'

type Register = Extract<Parameters<HttpServer['register']>[0], (app: never, options: never) => Promise<unknown>>

interface EndpointDependencies {
  readonly sources: ReadonlyMap<string, ReceiptSource>
  readonly intake: Pick<ReceiptIntake, 'store'>
  readonly counts: Pick<ReceiptCounts, 'count'>
  readonly log: Logger
}

const path = '/api/v1/delivery-receipts/:source'
const defaultBodyBytes = 262_144
const maxBodyBytes = 1_048_576

/** A provider sends receipts of many messages from few addresses, so the limit is high, but it stops guessing. */
export const receiptLimit = rateLimited({ maxAttempts: 6_000, windowSeconds: 60, keyStrategy: 'IP_ROUTE' })

/**
 * Receives the requests of providers. The responses have the HTTP status that providers read: 2xx for a stored request, also
 * for an unknown message; 401 for a rejected one; 503 while the source is not configured, so that the provider repeats it.
 */
export function receiptEndpoint({ sources, intake, counts, log }: EndpointDependencies): Register {
  return async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: maxBodyBytes }, (_request, body, done) =>
      done(null, body),
    )
    app.setErrorHandler(async (error, _request, reply) => {
      if (isBusinessError(error)) return reply.code(Number(error.code)).send()
      const { statusCode } = Object(error)
      const status = Number.isInteger(statusCode) && statusCode >= 400 && statusCode < 500 ? statusCode : 500
      if (status === 500) log.error({ err: error }, 'a delivery receipt could not be stored')
      return reply.code(status).send()
    })
    for (const route of [path, `${path}/:secret`]) {
      app.post<{ Params: { source: string; secret?: string }; Body?: unknown }>(route, async (request, reply) => {
        const { source: name, secret } = request.params
        const source = sources.get(name)
        if (source === undefined) return reply.code(404).send()
        if (!source.isConfigured()) return reply.code(503).send()
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        if (body.length > Math.min(source.maxBodyBytes ?? defaultBodyBytes, maxBodyBytes)) return reply.code(413).send()
        const headers = Object.fromEntries(
          Object.entries(request.headers).map(([key, value]) => [key, Array.isArray(value) ? value.join(', ') : value]),
        )
        try {
          const received = await source.receive({ headers, body, secret })
          await intake.store(name, received, body)
          counts.count(name, 'stored')
          return received.response === undefined
            ? reply.code(200).send()
            : reply.code(200).type('application/json; charset=utf-8').send(JSON.stringify(received.response))
        } catch (error) {
          if (!isReceiptRejected(error)) throw error
          const isLater = error.reason === 'unavailable'
          counts.count(name, isLater ? 'unavailable' : 'rejected')
          log.warn({ source: name, reason: errorReason(error) }, 'a delivery receipt was rejected')
          return reply.code(isLater ? 503 : 401).send()
        }
      })
    }
  }
}
