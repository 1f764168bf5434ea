import type { LookupAddress, LookupOptions } from 'node:dns'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { type Clock, Deadlines, errorCodeOf, omitUndefined } from '@plinth/kernel'
import { Agent, type Dispatcher } from 'undici'
import { AddressRules, type AddressSettings, type CheckedAddress } from './address-rules.ts'
import {
  type OutgoingFailure,
  type OutgoingHttp,
  OutgoingHttpError,
  type OutgoingRequest,
  type OutgoingResponse,
  type OutgoingStream,
} from './contract.ts'

/** Times in milliseconds, sizes in bytes. */
export interface OutgoingSettings extends AddressSettings {
  readonly deadlineMs: number
  readonly connectTimeoutMs: number
  readonly headerTimeoutMs: number
  readonly bodyTimeoutMs: number
  readonly maxResponseBytes: number
}

type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void
export type Lookup = (
  host: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

interface ClientDependencies {
  readonly settings: () => OutgoingSettings
  readonly clock: Clock
  readonly lookup: Lookup
}

/** Maximum number of connections to one origin. Further requests wait until one is free. */
const connectionsPerOrigin = 128
/** The same for streams. Each keeps its connection until its reader, for example a slow client, has read it. */
const streamsPerOrigin = 1_024

/**
 * Texts for error codes of the system and of libraries. The original messages are not used, because they may contain
 * secrets.
 */
const failureOf: Readonly<Record<string, readonly [code: OutgoingFailure, text: string]>> = {
  ENOTFOUND: ['host-unknown', 'The host is unknown'],
  EAI_AGAIN: ['host-unknown', 'The name service does not answer'],
  UND_ERR_CONNECT_TIMEOUT: ['connect-timeout', 'The connection was not made in time'],
  UND_ERR_HEADERS_TIMEOUT: ['answer-timeout', 'The answer did not begin in time'],
  UND_ERR_BODY_TIMEOUT: ['answer-timeout', 'The answer stopped'],
  UND_ERR_HEADERS_OVERFLOW: ['answer-invalid', 'The headers of the answer are too large'],
  UND_ERR_INVALID_ARG: ['request-refused', 'The request has a member that HTTP does not allow'],
}

const isTlsCode = (code: string) =>
  /^(?:ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_|EPROTO)/.test(code)

/** Sends the outgoing requests of the whole product. */
export class OutgoingHttpClient implements OutgoingHttp {
  readonly #parts: ClientDependencies
  readonly #deadlines: Deadlines
  #rules: AddressRules
  #agent: Agent
  #streamAgent: Agent
  /** Former agents with requests that have not ended. */
  readonly #retiring = new Set<Agent>()
  #stopped = false

  constructor(parts: ClientDependencies) {
    this.#parts = parts
    this.#deadlines = new Deadlines(parts.clock)
    this.#rules = new AddressRules(parts.settings())
    this.#agent = this.#createAgent(connectionsPerOrigin)
    this.#streamAgent = this.#createAgent(streamsPerOrigin)
  }

  check(url: string | URL): void {
    this.#rules.checked(url)
  }

  /** Applies changed settings. New requests do not use connections that were opened with the old settings. */
  reload(): void {
    const formerAgents = [this.#agent, this.#streamAgent]
    this.#rules = new AddressRules(this.#parts.settings())
    this.#agent = this.#createAgent(connectionsPerOrigin)
    this.#streamAgent = this.#createAgent(streamsPerOrigin)
    for (const former of formerAgents) {
      this.#retiring.add(former)
      former.close().finally(() => this.#retiring.delete(former))
    }
  }

  request(request: OutgoingRequest): Promise<OutgoingResponse> {
    try {
      const address = this.#addressOf(request)
      return new Exchange(this.#parts.settings(), request, address).run(this.#agent, this.#deadlines)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async stream(request: Parameters<OutgoingHttp['stream']>[0]): Promise<OutgoingStream> {
    const { origin, path } = this.#addressOf(request)
    const settings = this.#parts.settings()
    const { method = 'POST', headers, body, signal, deadlineMs = settings.deadlineMs } = request
    const late = new OutgoingHttpError('deadline-exceeded', `No response within ${deadlineMs} ms`, origin, true)
    const cancelled = new AbortController()
    // A request that waits for a connection does not notice the signal.
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    gaveUp.catch(() => {})
    cancelled.signal.addEventListener('abort', () => reject(cancelled.signal.reason))
    const giveUp = () => cancelled.abort(new OutgoingHttpError('aborted', 'Cancelled', origin, true))
    signal?.addEventListener('abort', giveUp)
    const endWait = this.#deadlines.begin(deadlineMs, () => cancelled.abort(late))
    const failure = (error: unknown) => {
      signal?.removeEventListener('abort', giveUp)
      if (cancelled.signal.aborted) return cancelled.signal.reason
      return failureFor(error, origin, !isBeforeSending(error))
    }
    try {
      const sent = this.#streamAgent.request({
        origin,
        path,
        method,
        headers: sentHeaders(headers),
        body: body ?? null,
        // The deadline limits the time until the headers, also while a large body is sent slowly.
        headersTimeout: 0,
        bodyTimeout: settings.bodyTimeoutMs,
        signal: cancelled.signal,
      })
      const response = await Promise.race([sent, gaveUp])
      const content = contentOf(response.body, failure, () => signal?.removeEventListener('abort', giveUp))
      return { status: response.statusCode, headers: joinedHeaders(response.headers), content }
    } catch (error) {
      throw failure(error)
    } finally {
      endWait()
    }
  }

  async reach({ url, deadlineMs, signal }: Parameters<OutgoingHttp['reach']>[0]): Promise<void> {
    const { origin } = this.#addressOf(omitUndefined({ url, signal }))
    const rejected = (code: OutgoingFailure, text: string) => new OutgoingHttpError(code, text, origin)
    const { connectTimeoutMs, deadlineMs: usual } = this.#parts.settings()
    const ms = Math.min(connectTimeoutMs, deadlineMs ?? usual)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = () => reject(rejected('aborted', 'Cancelled'))
    const endWait = this.#deadlines.begin(ms, () =>
      reject(rejected('connect-timeout', 'The connection was not made in time')),
    )
    signal?.addEventListener('abort', giveUp)
    const socket = connectionTo(new URL(origin), this.#lookup(), resolve)
    socket.on('error', (error) => reject(failureFor(error, origin, false)))
    try {
      await promise
    } finally {
      socket.destroy()
      endWait()
      signal?.removeEventListener('abort', giveUp)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([this.#agent, this.#streamAgent, ...this.#retiring].map((agent) => agent.destroy()))
  }

  /** @throws OutgoingHttpError if the address is not allowed, the signal is aborted or the product stops */
  #addressOf({ url, signal }: Pick<OutgoingRequest, 'url' | 'signal'>): CheckedAddress {
    const address = this.#rules.checked(url)
    const rejected = (code: OutgoingFailure, text: string) => new OutgoingHttpError(code, text, address.origin)
    if (this.#stopped) throw rejected('stopped', 'The product stops')
    if (signal?.aborted) throw rejected('aborted', 'Cancelled before sending')
    return address
  }

  #createAgent(connections: number): Agent {
    const { connectTimeoutMs: timeout } = this.#parts.settings()
    const connect = { lookup: this.#lookup(), timeout }
    return new Agent({ allowH2: false, connections, connect })
  }

  /** Returns a DNS lookup that only succeeds if the rules allow all addresses. */
  #lookup() {
    const rules = this.#rules
    return (host: string, options: LookupOptions, callback: LookupCallback) => {
      this.#parts.lookup(host, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, [])
        // One forbidden address rejects the host. Otherwise an attacker could mix addresses and rely on chance.
        const all = addresses.every(({ address }) => rules.allows(host, address))
        const [first] = addresses
        if (!all || first === undefined) return callback(rules.rejection(undefined), [])
        // The socket connects to the checked addresses, because a second lookup could return others.
        if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
    }
  }
}

/**
 * Opens a connection to the server of an origin.
 *
 * @param opened called when the connection is open and, for https, encrypted
 */
function connectionTo({ protocol, hostname, port }: URL, lookup: LookupFunction, opened: () => void): Socket {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (protocol === 'http:') return connect({ host, port: Number(port || 80), lookup }, opened)
  const servername = isIP(host) === 0 ? host : ''
  return connectTls({ host, port: Number(port || 443), servername, lookup, ALPNProtocols: ['http/1.1'] }, opened)
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #settings: OutgoingSettings
  readonly #request: OutgoingRequest
  readonly #address: CheckedAddress
  readonly #settled = Promise.withResolvers<OutgoingResponse>()
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #size = 0
  #isOver = false
  #head: Pick<OutgoingResponse, 'status' | 'headers'> | undefined
  #controller: Dispatcher.DispatchController | undefined
  #endWait: (() => void) | undefined
  /**
   * Listener for the signal of the caller. It is a bound method, because a closure would keep this object in memory
   * longer.
   */
  #giveUp: (() => void) | undefined

  constructor(settings: OutgoingSettings, request: OutgoingRequest, address: CheckedAddress) {
    this.#settings = settings
    this.#request = request
    this.#address = address
    this.#maxBytes = request.maxResponseBytes ?? settings.maxResponseBytes
  }

  /** This is not an async function, to save memory, because many requests can wait at the same time. */
  run(agent: Agent, deadlines: Deadlines): Promise<OutgoingResponse> {
    const { headerTimeoutMs, bodyTimeoutMs } = this.#settings
    const { method = 'POST', headers, body, signal, deadlineMs = this.#settings.deadlineMs } = this.#request
    if (signal !== undefined) {
      this.#giveUp = this.#givenUp.bind(this)
      signal.addEventListener('abort', this.#giveUp)
    }
    this.#endWait = deadlines.begin(deadlineMs, () =>
      this.#fail('deadline-exceeded', `No response within ${deadlineMs} ms`),
    )
    try {
      const { origin, path } = this.#address
      agent.dispatch(
        omitUndefined({
          origin,
          path,
          method,
          headersTimeout: headerTimeoutMs,
          bodyTimeout: bodyTimeoutMs,
          headers: sentHeaders(headers),
          body: body === undefined ? undefined : typeof body === 'string' ? body : Buffer.from(body),
        }),
        this,
      )
    } catch (error) {
      this.#end()
      this.#settled.reject(this.#failure(error))
    }
    return this.#settled.promise
  }

  #givenUp(): void {
    this.#fail('aborted', 'Cancelled')
  }

  #end(): void {
    this.#isOver = true
    this.#endWait?.()
    if (this.#giveUp !== undefined) this.#request.signal?.removeEventListener('abort', this.#giveUp)
  }

  /** Called before the request is written. From now on, the server may receive it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) controller.abort(new Error('ended'))
    else this.#controller = controller
  }

  onResponseStart(_: unknown, status: number, received: NodeJS.Dict<string | string[]>): void {
    if (status < 200) return
    this.#head = { status, headers: joinedHeaders(received) }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return
    const fitting = chunk.subarray(0, this.#maxBytes - this.#size)
    this.#chunks.push(fitting)
    this.#size += fitting.length
    if (fitting.length === chunk.length) return
    this.#answer(true)
    controller.abort(new Error('The answer is longer than is read'))
  }

  onResponseEnd(): void {
    this.#answer(false)
  }

  onResponseError(_: unknown, error: Error): void {
    this.#end()
    this.#settled.reject(this.#failure(error))
  }

  #answer(truncated: boolean): void {
    if (this.#head === undefined) return
    const [first] = this.#chunks
    const body = first === undefined ? '' : (this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks)).toString()
    this.#end()
    this.#settled.resolve({ ...this.#head, body, truncated })
  }

  #fail(code: OutgoingFailure, text: string): void {
    if (this.#isOver) return
    this.#end()
    const { origin } = this.#address
    this.#settled.reject(new OutgoingHttpError(code, text, origin, this.#controller !== undefined))
    this.#controller?.abort(new Error(text))
  }

  #failure(error: unknown): OutgoingHttpError {
    return failureFor(error, this.#address.origin, this.#controller !== undefined)
  }
}

/**
 * Converts an error to an error without secrets.
 *
 * @param started true if the request may have been sent
 */
function failureFor(error: unknown, origin: string, started: boolean): OutgoingHttpError {
  if (error instanceof OutgoingHttpError) return new OutgoingHttpError(error.code, error.message, origin)
  const code = errorCodeOf(error) ?? ''
  const known = failureOf[code]
  const make = (failure: OutgoingFailure, text: string) => new OutgoingHttpError(failure, text, origin, started)
  if (known !== undefined) return make(...known)
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return make('stopped', 'The product stops')
  if (code.startsWith('HPE_')) return make('answer-invalid', 'The answer is not HTTP')
  if (!started && isTlsCode(code)) return make('tls-failed', `No secure connection (${code})`)
  const shown = /^E[A-Z]+$/.test(code) ? ` (${code})` : ''
  return started
    ? make('connection-lost', `The connection was lost${shown}`)
    : make('connect-failed', `The connection was refused${shown}`)
}

/** Returns true for an error of the name service, of the connection or of TLS, after which nothing was sent. */
function isBeforeSending(error: unknown): boolean {
  const code = errorCodeOf(error) ?? ''
  return isTlsCode(code) || ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT'].includes(code)
}

/** Returns the body of a response with converted errors. If the body is destroyed, its connection is closed. */
function contentOf(body: Readable, failure: (error: unknown) => Error, ended: () => void): Readable {
  const bytes = async function* () {
    try {
      yield* body
    } catch (error) {
      throw failure(error)
    }
  }
  // A body that nobody reads must not end the process when it fails.
  body.on('error', () => {})
  const content = Readable.from(bytes(), { objectMode: false })
  content.once('close', () => {
    ended()
    body.destroy()
  })
  return content
}

function joinedHeaders(received: NodeJS.Dict<string | string[]>): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const name in received) {
    const value = received[name] ?? ''
    headers[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ')
  }
  return headers
}

/** Returns the headers with names in lower case, so that no header is sent twice. */
function sentHeaders(headers: OutgoingRequest['headers']): Record<string, string> {
  const sent: Record<string, string> = { 'user-agent': 'plinth' }
  for (const name in headers) sent[name.toLowerCase()] = headers[name] ?? ''
  sent['accept-encoding'] = 'identity'
  return sent
}
