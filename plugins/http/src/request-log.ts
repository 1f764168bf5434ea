import type { Logger } from '@plinth/kernel'
import type { FastifyBaseLogger } from 'fastify'

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/**
 * The logger of one request: every line carries the trace id. The child logger, which costs more than most handlers, is
 * made at the first line.
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
  readonly #traceId: string
  #child: Logger | undefined

  constructor(base: Logger, traceId: string) {
    this.#base = base
    this.#traceId = traceId
  }

  get level(): string {
    return this.#base.level
  }

  child(bindings: Record<string, unknown>, options: Parameters<FastifyBaseLogger['child']>[1] = {}): FastifyBaseLogger {
    return this.traced.child(bindings, options as never)
  }

  get traced(): Logger {
    this.#child ??= this.#base.child({ traceId: this.#traceId })
    return this.#child
  }
}

for (const level of levels) {
  Object.defineProperty(RequestLog.prototype, level, {
    value(this: RequestLog, ...args: Parameters<FastifyBaseLogger['info']>) {
      this.traced[level](...args)
    },
  })
}
