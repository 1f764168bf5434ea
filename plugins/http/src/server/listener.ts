import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setImmediate as afterReading, setTimeout as realTime } from 'node:timers/promises'
import { codeOf, hostAndPort, type Logger } from '@plinth/kernel'
import type { FastifyInstance } from 'fastify'
import { httpError } from '../errors.ts'
import { isWorkedFor } from './connection-bounds.ts'
import { type DoorServer, openConnections } from './door-server.ts'
import { RequestLog } from './request-log.ts'

/**
 * How long the door stays open after the decision to drain, and then how often idle connections are looked for: a
 * connection that is being made or a request on its way is answered, and the answer says goodbye. Real time, not the
 * injected clock: sockets live in it.
 */
const graceMs = 100
/** Milliseconds that a connection has to say what it wants when the door has closed behind it. */
const unsaidMs = 1_000
/** Connections that may wait to be accepted. Beyond it a caller's system tries again after seconds, unseen by us. */
const backlog = 4_096

/** The listening side of an application: opens the door, and closes it without cutting a request. */
export class Listener {
  readonly #app: FastifyInstance
  readonly #log: Logger
  readonly #open: ReadonlySet<Socket>
  #url: string | undefined

  constructor(app: FastifyInstance, log: Logger) {
    this.#app = app
    this.#log = log
    this.#open = openConnections(app.server)
  }

  /** Base URL while it listens. */
  get url(): string | undefined {
    return this.#url
  }

  /** Throws `PLINTH_HTTP_LISTEN` with what to do when the address is taken or forbidden. */
  async listen(host: string, port: number): Promise<void> {
    // Fastify logs each address in words of its own.
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
   * Closes the door after a short grace and right after the system's queue was emptied, because closing it resets the
   * connections that wait there, and resolves when the last connection is gone. Requests under way are answered, and so are
   * those that still come on an open connection; each answer then closes its connection. A connection that has not said
   * what it wants has a second for it. When the signal aborts, what is left is cut.
   */
  async close(signal: AbortSignal): Promise<void> {
    // `createApp` makes no other.
    const server = this.#app.server as DoorServer
    if (!server.listening) return
    this.#url = undefined
    await realTime(graceMs, undefined, { signal }).catch(() => undefined)
    let isClosed = false
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    await server.closeDoor(() => {
      isClosed = true
      resolve()
    })
    const unsaidUntil = performance.now() + unsaidMs
    const cut = () => {
      if (this.#open.size > 0) {
        this.#log.warn({ connections: this.#open.size }, 'connections cut at the drain deadline')
      }
      for (const socket of this.#open) socket.destroy()
    }
    signal.addEventListener('abort', cut)
    if (signal.aborted) cut()
    for (;;) {
      await Promise.race([closed, realTime(graceMs, undefined, { ref: false })])
      if (isClosed) break
      // A process that was held up finds the timer due and requests unread: those come first.
      await afterReading()
      server.closeIdleConnections()
      if (performance.now() < unsaidUntil) continue
      for (const socket of this.#open) if (!isWorkedFor(socket)) socket.destroy()
    }
    signal.removeEventListener('abort', cut)
  }
}

/** `PLINTH_HTTP_LISTEN` when the address is taken or forbidden, otherwise the given error. */
function listenFailure(error: unknown, host: string, port: number): unknown {
  const code = codeOf(error)
  const fix = code === undefined ? undefined : listenFixes[code]
  return fix === undefined ? error : httpError('PLINTH_HTTP_LISTEN', { host, port, code: String(code), fix }, error)
}

/** Milliseconds in which a product that already listens tells that it is one. */
const answerMs = 2_000

/**
 * Checks that a server could listen, and closes the port again.
 *
 * @param contextPath of the product
 * @returns a warning when a product already serves there, which may be this one
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
    if (codeOf(error) !== 'EADDRINUSE' || !(await isServed(`${url}${contextPath}/health/live`))) {
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
    const envelope = (await response.json()) as { readonly code?: unknown }
    return envelope.code === '200'
  } catch {
    return false
  }
}

const listenFixes: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Stop the program that holds the port, or set platform.http.port to another.',
  EACCES: 'Set platform.http.port to 1024 or above, or give the process the right to the port.',
  EADDRNOTAVAIL: 'Set platform.http.host to an address of this machine.',
}
