import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setImmediate as afterReading, setTimeout as realTime } from 'node:timers/promises'
import { errorCodeOf, hostAndPort, type Logger } from '@plinth/kernel'
import type { FastifyInstance } from 'fastify'
import { httpError } from '../errors.ts'
import { type GracefulServer, hasOpenRequest, openConnections } from './door-server.ts'
import { RequestLog } from './request-log.ts'

/**
 * Milliseconds for which the server accepts connections after the drain begins. Also the interval between checks for
 * idle connections. Both use real time, because sockets do not follow the injected clock.
 */
const graceMs = 100
/** Milliseconds after which a connection without a request is closed, once the server no longer listens. */
const idleLimitMs = 1_000
/**
 * Maximum number of connections that wait to be accepted. If the queue is full, callers try again only after seconds.
 */
const backlog = 4_096

export class Listener {
  readonly #app: FastifyInstance
  readonly #log: Logger
  readonly #open: ReadonlySet<Socket>
  readonly #stopped = Promise.withResolvers<void>()
  #url: string | undefined

  constructor(app: FastifyInstance, log: Logger) {
    this.#app = app
    this.#log = log
    this.#open = openConnections(app.server)
  }

  /** Base URL of the server; undefined while it does not listen. */
  get url(): string | undefined {
    return this.#url
  }

  /** Resolves when `close` has stopped accepting connections. */
  get stopped(): Promise<void> {
    return this.#stopped.promise
  }

  /** @throws PlinthError `PLINTH_HTTP_LISTEN` if the address is in use or not allowed */
  async listen(host: string, port: number): Promise<void> {
    // Fastify would write a log line for each address, so its log is disabled until the server listens.
    const { log } = this.#app
    this.#app.log = new RequestLog(this.#log.child({}, { level: 'silent' }))
    try {
      await this.#app.listen({ host, port, backlog })
    } catch (error) {
      throw listenFailure(error, host, port)
    } finally {
      this.#app.log = log
    }
    const address = this.#app.server.address()
    const actual = typeof address === 'object' && address !== null ? address.port : port
    this.#url = `http://${hostAndPort(host, actual)}`
    this.#log.info({ url: this.#url }, 'listening')
  }

  /**
   * Stops the server without interrupting requests. Resolves when the last connection has ended. Connections are
   * accepted for a short time more. Requests on open connections still get responses, which close the connection.
   * Connections without a request are closed after one second. When the signal aborts, all connections are destroyed.
   */
  async close(signal: AbortSignal): Promise<void> {
    // All applications come from `createApp`, which uses only `GracefulServer`.
    const server = this.#app.server as GracefulServer
    if (!server.listening) {
      this.#stopped.resolve()
      return
    }
    this.#url = undefined
    await realTime(graceMs, undefined, { signal }).catch(() => undefined)
    let isClosed = false
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    await server.closeDoor(() => {
      isClosed = true
      resolve()
    })
    this.#stopped.resolve()
    const idleUntil = performance.now() + idleLimitMs
    const destroyAll = () => {
      if (this.#open.size > 0) {
        this.#log.warn({ connections: this.#open.size }, 'connections were closed at the drain deadline')
      }
      for (const socket of this.#open) socket.destroy()
    }
    signal.addEventListener('abort', destroyAll)
    if (signal.aborted) destroyAll()
    for (;;) {
      await Promise.race([closed, realTime(graceMs, undefined, { ref: false })])
      if (isClosed) break
      // After a suspension of the process, Node.js may not have read all requests yet. It must read them before idle
      // connections are closed.
      await afterReading()
      server.closeIdleConnections()
      if (performance.now() < idleUntil) continue
      for (const socket of this.#open) if (!hasOpenRequest(socket)) socket.destroy()
    }
    signal.removeEventListener('abort', destroyAll)
  }
}

/** Returns the error unchanged unless the address is in use or not allowed. */
function listenFailure(error: unknown, host: string, port: number): unknown {
  const code = errorCodeOf(error)
  const fix = code === undefined ? undefined : listenFixes[code]
  return fix === undefined ? error : httpError('PLINTH_HTTP_LISTEN', { host, port, code: String(code), fix }, error)
}

/** Time in milliseconds in which a running product must respond to the check. */
const answerMs = 2_000

/**
 * Checks that a server can listen on the port.
 *
 * @param contextPath context path of the product
 * @returns a warning if a product is already running there, which may be this product
 * @throws PlinthError `PLINTH_HTTP_LISTEN`
 */
export async function checkPort(host: string, port: number, contextPath: string): Promise<readonly string[]> {
  const probe = createServer()
  try {
    probe.listen({ host, port, exclusive: true })
    await once(probe, 'listening')
    return []
  } catch (error) {
    const url = `http://${hostAndPort(host, port)}`
    if (errorCodeOf(error) !== 'EADDRINUSE' || !(await isServed(`${url}${contextPath}/health/live`))) {
      throw listenFailure(error, host, port)
    }
    return [`A product already serves at ${url}. Stop it before you start another one with this port.`]
  } finally {
    probe.close()
  }
}

async function isServed(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(answerMs) })
    return Object(await response.json()).code === '200'
  } catch {
    return false
  }
}

const listenFixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop the program that holds the port, or set platform.http.port to another.',
  EACCES: 'Set platform.http.port to 1024 or above, or give the process the right to the port.',
  EADDRNOTAVAIL: 'Set platform.http.host to an address of this machine.',
}
