import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  RouteOptions,
  RouteShorthandOptions,
} from 'fastify'
import type { HandlerWrapper, RequestSchemas, RouteInfo, RouteWrapper } from './contract.ts'
import { noSniff, success, successCode, successSchema } from './envelope.ts'
import { hooksFor, runInTurn } from './guards.ts'
import { keepRawBody } from './raw-body.ts'
import { checkedSuccess } from './response-check.ts'
import type { BookedRoute, RouteBook } from './route-book.ts'

/** Adds the routes that answer with an envelope. */
export function addEnvelopeRoutes(app: FastifyInstance, book: RouteBook, isResponseChecked: boolean): void {
  for (const booked of book.routes) {
    if (booked.kind !== 'envelope') continue
    const { request, response } = booked.declaration
    const handler = wrapped(booked.declaration.handler as Handler, booked.info, book.wrappers)
    addRoute(app, {
      ...sharedOptions(booked, book),
      schema: { ...inputSchemas(request), response: { [successCode]: successSchema(response) } },
      config: { successCode },
      handler(request, reply) {
        reply.header(noSniff.name, noSniff.value)
        const result: unknown = handler(request, reply)
        if (isResponseChecked) return Promise.resolve(result).then((data) => checkedSuccess(data, reply))
        return isThenable(result) ? result.then(success) : success(result)
      },
    })
  }
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown

function wrapped(handler: Handler, route: RouteInfo, wrappers: readonly RouteWrapper[]): Handler {
  const around: readonly HandlerWrapper[] = wrappers.flatMap((wrapper) => wrapper.forRoute(route) ?? [])
  return around.reduceRight(
    (inner, wrap) => (request, reply) => wrap(request, reply, async () => inner(request, reply)),
    handler,
  )
}

/** Adds the routes that answer in their own form. */
export function addRawRoutes(app: FastifyInstance, book: RouteBook): void {
  for (const booked of book.routes) {
    if (booked.kind !== 'raw') continue
    const { handler, request, plainFaults = false } = booked.declaration
    addRoute(app, {
      ...sharedOptions(booked, book),
      schema: inputSchemas(request),
      config: { plainFaults },
      handler: (request, reply) => handler(request, reply),
    })
  }
}

/** A route whose guards want the bytes of the body lives in a context of its own; all others pay nothing for it. */
function addRoute(app: FastifyInstance, options: RouteOptions): void {
  if (options.preValidation === undefined) app.route(options)
  else app.register(async (signed) => void keepRawBody(signed).route(options))
}

function sharedOptions(
  { info }: BookedRoute,
  book: RouteBook,
): RouteShorthandOptions & { method: string; url: string } {
  const { onRequest, preValidation, preHandler } = hooksFor(info, book.guards)
  return {
    method: info.method,
    url: info.path,
    ...(onRequest.length > 0 ? { onRequest: runInTurn(onRequest) } : {}),
    ...(preValidation.length > 0 ? { preValidation: runInTurn(preValidation) } : {}),
    ...(preHandler.length > 0 ? { preHandler: runInTurn(preHandler) } : {}),
  }
}

function inputSchemas({ params, query, body }: RequestSchemas = {}): FastifySchema {
  return {
    ...(params === undefined ? {} : { params }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(body === undefined ? {} : { body }),
  }
}

const isThenable = (value: unknown): value is Promise<unknown> =>
  typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
