import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Logger, Tracer } from '@plinth/kernel'
import Fastify, {
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  type onSendHookHandler,
} from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { CallerAddressResolver } from '../caller/client-ip.ts'
import type { Forwarding } from '../caller/forwarding.ts'
import { acceptOnlyJson, hostProblem, traceHeader, traceIdOf, transferProblem } from '../caller/message-checks.ts'
import {
  bareResponse,
  envelopeType,
  type Failure,
  failureOf,
  failureText,
  noSniff,
  sendBareFailure,
  sendFailureToSocket,
  transportFailure,
} from '../envelope.ts'
import type { RouteDurations } from '../metrics.ts'
import type { DeferredSchemas } from '../routes/deferred-schemas.ts'
import { UnmatchedResponses } from '../routes/unmatched.ts'
import type { Translate } from '../texts.ts'
import { compressResponses } from './compression.ts'
import {
  type ConnectionLimits,
  GracefulServer,
  limitConnections,
  registerRequest,
  unregisterRequest,
  validateHeaderName,
  validateHeaderValue,
} from './door-server.ts'
import { LoadShedder, type OverloadLimits } from './overload.ts'
import { RequestLog } from './request-log.ts'
import { beginRequestSpan, endRequestSpan } from './request-span.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Arrival time of the request in milliseconds of the monotonic clock. */
    startedAt: number
  }
  interface FastifyContextConfig {
    /** Code of successful requests in metrics. Default: the HTTP status. */
    successCode?: string
    /** Plugin that added the route. */
    plugin?: string
    /** See the same member of `RawRouteDeclaration`. */
    plainSchemaProblems?: boolean
  }
}

/** Settings and functions that the Fastify application uses. */
export interface AppSettings extends ConnectionLimits {
  readonly bodyLimit: number
  readonly requestTimeoutMs: number
  readonly overload: OverloadLimits
  /** Paths that are served even during an overload. */
  readonly alwaysServed: readonly string[]
  readonly isAccessLogged: () => boolean
  readonly isDraining: () => boolean
  /** Returns true while responses may be compressed. */
  readonly isCompressing: () => boolean
  readonly addresses: CallerAddressResolver
  readonly forwarding: Forwarding
  readonly localeOf: (acceptLanguage: string | undefined) => string
  readonly translate: Translate
  /** Returns the metrics of a route; undefined if metrics are disabled. */
  readonly durationsOf: ((method: string, route: string) => RouteDurations) | undefined
  readonly clock: Clock
  readonly tracer?: Tracer | undefined
  readonly log: Logger
  /** Returns the logger of a plugin. */
  readonly logOf: (plugin: string) => Logger
}

/** Maximum interval at which Node.js checks for requests that arrive too slowly. */
const maxTimeoutCheckMs = 30_000
const maxHeadersMs = 60_000

/**
 * Registers hooks for the whole application. `fastify-plugin` changes its argument, so each application needs a new
 * function.
 */
const global = (name: string, plugin: FastifyPluginAsync) =>
  fastifyPlugin(plugin, { name: `plinth-${name}`, fastify: '5.x' })

/**
 * Creates the application without routes. Additional members of a request are computed when they are read, and its
 * logger is created at the first line, so that each request only pays for the features that it uses.
 */
export async function createApp(settings: AppSettings, schemas: DeferredSchemas): Promise<FastifyInstance> {
  const { bodyLimit, requestTimeoutMs, translate, localeOf, forwarding, clock, tracer, log, logOf } = settings
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const failure = failureOf(error, translate, localeOf(request.headers['accept-language']))
    logFailure(error, failure, request, logOf)
    if (failure.kind === 'unexpected') request.raw.span?.fail(error)
    request.failureCode = failure.code
    const isPlain = failure.kind === 'unexpected' && request.routeOptions.config.plainSchemaProblems === true
    sendFailure(isPlain ? { ...failure, status: 500 } : failure, reply)
  }
  const { strip } = forwarding
  let loadShedder: LoadShedder | undefined
  const app = Fastify({
    logger: false,
    ...(strip === undefined ? {} : { rewriteUrl: ({ url = '/' }: IncomingMessage) => strip(url) }),
    genReqId: tracer === undefined ? traceIdOf : (raw) => beginRequestSpan(raw, tracer, settings.addresses),
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    serverFactory(serve, { keepAliveTimeout }) {
      loadShedder ??= createLoadShedder(serve, settings)
      const server = new GracefulServer({
        keepAliveTimeout: Number(keepAliveTimeout),
        requestTimeout: requestTimeoutMs,
        connectionsCheckingInterval: Math.min(requestTimeoutMs, maxTimeoutCheckMs),
        // Node.js enforces `requestTimeout` only if `headersTimeout` is not longer.
        headersTimeout: Math.min(requestTimeoutMs, maxHeadersMs),
        // `hostProblem` checks the header. Node.js would respond without a body, and would accept two headers.
        requireHostHeader: false,
      })
      guardServer(server, serve, loadShedder, settings)
      return server
    },
    schemaController: { compilersFactory: schemas.compilers },
    // During the drain, a request on an open connection is served. Then the connection is closed.
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => fail(error, request as never, reply as never),
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET' || !socket.writable) return
      sendFailureToSocket(socket, transportFailure(error.code, translate, localeOf(undefined)))
    },
  })
  // The logger is set here, because with the option `logger` Fastify would create a child logger and two listeners per
  // request.
  app.log = new RequestLog(log)

  await app.register(requestFacts(settings))
  await app.register(global('json-bodies', async (app) => acceptOnlyJson(app)))
  await app.register(global('failures', async (app) => void app.setErrorHandler(fail)))
  await app.register(requestStart(clock, log))
  if (tracer !== undefined) await app.register(requestSpans())
  // This hook must run before the hook that releases the slot of the load shedder, so that compression counts as work
  // of the request.
  await app.register(global('compression', (app) => compressResponses(app, settings.isCompressing)))
  const leave = (request: IncomingMessage) => loadShedder?.leave(request)
  await app.register(requestEnd(settings, leave))
  return app
}

const requestFacts = ({ addresses, forwarding, localeOf, translate }: AppSettings) =>
  global('request-facts', async (app) => {
    defineFact(app, 'checkInput', (request) => (schema: object, value: unknown) => {
      // The compiler of this server returns the checked value or the error, not only whether the value is valid.
      const checked = request.compileValidationSchema(schema, 'body')(value) as unknown as
        | true
        | { readonly value?: unknown; readonly error?: Error }
      if (checked === true) return value
      if (checked.error !== undefined) throw checked.error
      return checked.value
    })
    defineFact(app, 'errorOf', (request) => (error: unknown) => {
      const { code, message, data } = failureOf(error, translate, request.locale)
      return { code, message, data }
    })
    defineFact(app, 'traceId', (request) => request.id)
    defineFact(app, 'locale', (request) => localeOf(request.headers['accept-language']))
    defineFact(app, 'clientIp', ({ raw }) => addresses.client(raw.socket.remoteAddress, raw.headers))
    defineFact(app, 'peerIp', ({ raw }) => addresses.peer(raw.socket.remoteAddress).address)
    defineFact(app, 'contextPath', ({ raw }) => forwarding.contextPath(raw))
    defineFact(app, 'isHttps', ({ raw }) => forwarding.isHttps(raw))
    defineFact(app, 'calledHost', ({ raw }) => forwarding.host(raw))
  })

/**
 * Returns the first hook of each request. It sets arrival time, logger and trace id, and checks `Host` and
 * `Transfer-Encoding`.
 */
const requestStart = (clock: Clock, log: Logger) =>
  global('request-start', async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      // The values are set here and are not decorators with initial values, because Fastify copies decorators one by
      // one. This would lower the throughput of a fast route by 1 %.
      request.startedAt = request.raw.arrivedAt ?? clock.monotonic()
      request.failureCode = ''
      const own = new RequestLog(log, request)
      request.log = own
      reply.log = own
      reply.header(traceHeader, request.id)
      if (isPersonal(request)) reply.header('cache-control', 'no-store')
      done(hostProblem(request.raw) ?? transferProblem(request.raw))
    })
  })

/** Returns the last hook of each request, which runs even if no route matches. */
const requestEnd = (settings: AppSettings, leave: (request: IncomingMessage) => void) =>
  global('request-end', async (app) => {
    app.addHook('onRoute', (route) => {
      const durations = settings.durationsOf?.(String(route.method), route.url)
      const finish = finisher(settings, leave, durations, route.config?.successCode)
      route.onSend = [...[route.onSend ?? []].flat(), finish]
    })
    const finishUnmatched = finisher(settings, leave, settings.durationsOf?.('*', 'unmatched'), undefined)
    const unmatched = new UnmatchedResponses(app, settings.translate)
    app.setNotFoundHandler((request, reply) => {
      const answer = unmatched.to(request)
      reply.code(answer.status).headers(answer.headers)
      finishUnmatched.call(app, request, reply, undefined, () => {
        reply.send(answer.body)
      })
    })
  })

/**
 * Runs the hooks and the handler of each request in its span. The body is read in another asynchronous context, so the
 * span is entered again after it. A WebSocket stays open for long and has no span.
 */
const requestSpans = () =>
  global('request-spans', async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      const { span, upgrade } = request.raw
      if (span === undefined || upgrade === true) return done()
      endRequestSpan(span, request, reply)
      span.run(done)
    })
    app.addHook('preValidation', (request, _reply, done) => {
      const { span, upgrade } = request.raw
      if (span === undefined || upgrade === true) done()
      else span.run(done)
    })
  })

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Creates the load shedder in front of the application. Requests of `inject` bypass it. */
function createLoadShedder(serve: Serve, settings: AppSettings): LoadShedder {
  const { isAccessLogged, isDraining, localeOf, translate, clock, log } = settings
  const durations = settings.durationsOf?.('*', 'overloaded')
  const responses = new Map<string, ReturnType<typeof bareResponse>>()
  const reject = (request: IncomingMessage, response: ServerResponse, retryAfterSeconds: number) => {
    const locale = localeOf(request.headers['accept-language'])
    const answer = responses.get(locale) ?? bareResponse(transportFailure('overloaded', translate, locale))
    responses.set(locale, answer)
    const traceId = traceIdOf(request)
    response.setHeader(traceHeader, traceId)
    response.setHeader('retry-after', retryAfterSeconds)
    response.setHeader('cache-control', 'no-store')
    if (isDraining()) response.setHeader('connection', 'close')
    response.writeHead(answer.status, answer.headers).end(answer.body)
    const durationMs = clock.monotonic() - (request.arrivedAt ?? 0)
    durations?.observe('503', durationMs / 1000)
    if (isAccessLogged()) log.info({ traceId, ...accessLine(request, 503, '503', durationMs) }, 'request')
  }
  return new LoadShedder({ bounds: settings.overload, clock, log, serve, reject })
}

/** Connects the server with the application. Each request first passes the connection limits and the load shedder. */
function guardServer(server: GracefulServer, serve: Serve, loadShedder: LoadShedder, settings: AppSettings): void {
  const { alwaysServed, forwarding, localeOf, translate } = settings
  limitConnections(server, settings)
  server.on('connection', () => loadShedder.connectionCame())
  // One function for all responses, so that no closure is created per request.
  const closed = function (this: ServerResponse) {
    const { req } = this
    unregisterRequest(req.socket)
    loadShedder.gone(req)
  }
  server.on('request', (request, response) => {
    response.on('close', closed)
    if (!registerRequest(request.socket)) return
    const { url = '' } = request
    const isAlwaysServed = isOneOf(alwaysServed, forwarding.strip === undefined ? url : forwarding.strip(url))
    // A WebSocket would use a slot until it closes. `maxConnections` limits WebSockets.
    if (isAlwaysServed || request.upgrade === true) serve(request, response)
    else loadShedder.enter(request, response)
  })
  server.on('checkExpectation', (request, response) => {
    const locale = localeOf(request.headers['accept-language'])
    response.setHeader(traceHeader, traceIdOf(request))
    sendBareFailure(response, transportFailure('expectation', translate, locale))
  })
}

/**
 * Returns true if no cache may store the response, because it may contain data of one user. A handler can override
 * this, for example for public files.
 */
const isPersonal = ({ url, headers }: FastifyRequest): boolean =>
  url.startsWith('/api/') || headers.authorization !== undefined || headers.cookie !== undefined

/** Returns true if the path of the URL is in the list. Creates no objects, because it runs for each request. */
function isOneOf(paths: readonly string[], url: string): boolean {
  for (const path of paths) {
    if (url.startsWith(path) && (url.length === path.length || url[path.length] === '?')) return true
  }
  return false
}

/** Headers that describe the content that the failure replaces. */
const aboutContent = new Set([
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-range',
  'etag',
  'expires',
  'last-modified',
])

export function sendFailure({ status, code, message, data, headers = {} }: Failure, reply: FastifyReply): void {
  // An invalid header may have caused the failure, and would make this response fail too.
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (aboutContent.has(name) || !isSendable(name, value)) reply.removeHeader(name)
  }
  reply
    .code(status)
    .headers(headers)
    .header('cache-control', 'no-store')
    .header(noSniff.name, noSniff.value)
    .header(traceHeader, reply.request.id)
    .type(envelopeType)
    .send(failureText(code, message, data))
}

function isSendable(name: string, value: unknown): boolean {
  try {
    for (const each of [value].flat()) validateHeaderValue(name, each as string)
    validateHeaderName(name)
    return true
  } catch {
    return false
  }
}

function defineFact(app: FastifyInstance, name: string, read: (request: FastifyRequest) => unknown): void {
  app.decorateRequest(name, {
    getter(this: FastifyRequest) {
      return read(this)
    },
  })
}

/**
 * Returns the last step of each response. It releases the slot, closes the connection during the drain, and records
 * metrics and the access log.
 */
function finisher(
  settings: AppSettings,
  leave: (request: IncomingMessage) => void,
  durations: RouteDurations | undefined,
  successCode: string | undefined,
): onSendHookHandler {
  const { clock, isAccessLogged, isDraining } = settings
  return (request, reply, _payload, done) => {
    leave(request.raw)
    if (isDraining()) reply.header('connection', 'close')
    const isLogged = isAccessLogged()
    if (durations !== undefined || isLogged) {
      const status = reply.statusCode
      const code = request.failureCode || (status === 200 ? successCode : undefined) || String(status)
      const durationMs = clock.monotonic() - request.startedAt
      durations?.observe(code, durationMs / 1000)
      if (isLogged) request.log.info(accessLine(request, status, code, durationMs), 'request')
    }
    done()
  }
}

const accessLine = (
  { method, url = '' }: { readonly method?: string | undefined; readonly url?: string | undefined },
  status: number,
  code: string,
  durationMs: number,
) => ({ method, path: url.split('?', 1)[0], status, code, durationMs })

/** Logs an unexpected error as an error of the plugin whose handler threw it. */
function logFailure(
  error: unknown,
  { kind, code, message }: Failure,
  request: FastifyRequest,
  logOf: AppSettings['logOf'],
): void {
  const { method, url, config } = request.routeOptions
  if (kind !== 'unexpected') {
    request.log.debug({ method, route: url, code }, message)
    return
  }
  if (request.raw.destroyed && !request.raw.complete) {
    request.log.debug({ method, route: url }, 'the caller closed the connection')
    return
  }
  const log = config.plugin === undefined ? request.log : new RequestLog(logOf(config.plugin), request)
  const err =
    error instanceof Error
      ? error
      : new TypeError(`The handler threw ${error === null ? 'null' : typeof error} instead of an error`)
  log.error({ err, method, route: url }, 'request failed')
}
