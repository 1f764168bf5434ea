import type { Logger } from '@plinth/kernel'
import { toErrorLine } from '@plinth/kernel/host'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

interface Exchange {
  readonly method?: string
  readonly routeOptions?: { readonly url?: string | undefined }
  readonly request?: Exchange
  readonly statusCode?: number
}

const requestLine = ({ method, routeOptions }: Exchange) => ({ method, route: routeOptions?.url })
const responseLine = ({ statusCode, request = {} }: Exchange) => ({ ...requestLine(request), status: statusCode })

/** Members that Fastify adds to its log lines. They never contain headers, query or body. */
const serializers = { req: requestLine, request: requestLine, res: responseLine, reply: responseLine }

/**
 * Logger for Fastify: one for the application, and one per request that adds the trace id. The query of the URL is
 * removed from all texts, because it may contain secrets. A line that cannot be written is lost, so that it does not
 * fail the request.
 *
 * The child logger is created at the first line, because creating it takes longer than most handlers.
 */
export class RequestLog implements FastifyBaseLogger {
  declare readonly trace: FastifyBaseLogger['trace']
  declare readonly debug: FastifyBaseLogger['debug']
  declare readonly info: FastifyBaseLogger['info']
  declare readonly warn: FastifyBaseLogger['warn']
  declare readonly error: FastifyBaseLogger['error']
  declare readonly fatal: FastifyBaseLogger['fatal']
  declare readonly silent: FastifyBaseLogger['silent']
  readonly #base: Logger
  readonly #request: FastifyRequest | undefined
  #child: Logger | undefined

  /** @param request `undefined` for the logger of the application */
  constructor(base: Logger, request?: FastifyRequest) {
    this.#base = base
    this.#request = request
  }

  get level(): string {
    return this.#base.level
  }

  child(bindings: Record<string, unknown>, options: Parameters<FastifyBaseLogger['child']>[1] = {}): FastifyBaseLogger {
    return this.traced.child(bindings, options as never)
  }

  get traced(): Logger {
    const bindings = this.#request === undefined ? {} : { traceId: this.#request.id }
    const err = (error: unknown) => this.#withoutQuery(toErrorLine(error))
    this.#child ??= this.#base.child(bindings, { serializers: { ...serializers, err } })
    return this.#child
  }

  /** Writes one log line. Never throws. */
  write(level: (typeof levels)[number], parts: readonly unknown[]): void {
    try {
      const shown = parts.map((part) => (typeof part === 'string' ? this.#withoutQuery(part) : part))
      this.traced[level](...(shown as Parameters<FastifyBaseLogger['info']>))
    } catch {
      // A logging error must not fail the request.
    }
  }

  /** Removes the query of the URL from all texts, because it may contain a token. */
  #withoutQuery(part: unknown): unknown {
    const url = this.#request?.raw.url ?? ''
    const start = url.indexOf('?')
    if (start < 0 || start === url.length - 1) return part
    const query = url.slice(start)
    const clean = (value: unknown): unknown => {
      if (typeof value === 'string') return value.replaceAll(query, '?...')
      if (Array.isArray(value)) return value.map(clean)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, clean(member)]))
    }
    return clean(part)
  }
}

for (const level of levels) {
  Object.defineProperty(RequestLog.prototype, level, {
    value(this: RequestLog, ...parts: unknown[]) {
      this.write(level, parts)
    },
  })
}
