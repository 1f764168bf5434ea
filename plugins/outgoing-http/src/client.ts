import type { LookupAddress, LookupOptions } from 'node:dns'
import { type Clock, codeOf } from '@plinth/kernel'
import { Agent, type Dispatcher } from 'undici'
import { AddressRules, type AddressSettings } from './address-rules.ts'
import {
  type OutgoingFailure,
  type OutgoingHttp,
  OutgoingHttpError,
  type OutgoingRequest,
  type OutgoingResponse,
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

export interface ClientParts {
  readonly settings: () => OutgoingSettings
  readonly clock: Clock
  readonly lookup: Lookup
}

/** Connections to one origin at the same time; more requests wait for one, within their deadlines. */
const connectionsPerOrigin = 128

/** One reason for all ends: without one, each end would make an exception with a stack. */
const over = new Error('The request is over')

/** Texts of system and library failures by code; whatever else they say may hold secrets. */
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

/** One client for the whole product. */
export class OutgoingHttpClient implements OutgoingHttp {
  readonly #parts: ClientParts
  #rules: AddressRules
  #agent: Agent
  /** Finish what they have, and are closed then. */
  readonly #retiring = new Set<Agent>()
  #stopped = false

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.#rules = new AddressRules(parts.settings())
    this.#agent = this.#createAgent()
  }

  check(url: string | URL): void {
    this.#rules.checked(url)
  }

  /** Takes changed settings over: connections that were made under the old ones serve nobody else. */
  reload(): void {
    const former = this.#agent
    this.#rules = new AddressRules(this.#parts.settings())
    this.#agent = this.#createAgent()
    this.#retiring.add(former)
    former.close().finally(() => this.#retiring.delete(former))
  }

  async request(request: OutgoingRequest): Promise<OutgoingResponse> {
    const url = this.#rules.checked(request.url)
    const { origin } = url
    const refused = (code: OutgoingFailure, text: string) => new OutgoingHttpError(code, text, origin)
    if (this.#stopped) throw refused('stopped', 'The product stops')
    if (request.signal?.aborted) throw refused('aborted', 'Given up before sending')
    return new Exchange(this.#parts, request, url).run(this.#agent)
  }

  /** Ends all requests. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all([this.#agent, ...this.#retiring].map((agent) => agent.destroy()))
  }

  #createAgent(): Agent {
    const rules = this.#rules
    const lookup = (host: string, options: LookupOptions, callback: LookupCallback) => {
      this.#parts.lookup(host, { ...options, all: true }, (error, addresses) => {
        if (error) return callback(error, [])
        // Also one private address among public ones is an attempt to be let in by chance.
        const all = addresses.every(({ address }) => rules.allows(host, address))
        const [first] = addresses
        if (!all || first === undefined) return callback(rules.refusal(undefined), [])
        // The socket connects to what was checked: no second look-up can answer something else.
        if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      })
    }
    return new Agent({
      allowH2: false,
      connections: connectionsPerOrigin,
      connect: { lookup, timeout: this.#parts.settings().connectTimeoutMs },
    })
  }
}

/** One request and what became of it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #parts: ClientParts
  readonly #request: OutgoingRequest
  readonly #url: URL
  readonly #settled = Promise.withResolvers<OutgoingResponse>()
  readonly #ended = new AbortController()
  readonly #maxBytes: number
  readonly #chunks: Buffer[] = []
  #size = 0
  #head: Pick<OutgoingResponse, 'status' | 'headers'> | undefined
  #controller: Dispatcher.DispatchController | undefined

  constructor(parts: ClientParts, request: OutgoingRequest, url: URL) {
    this.#parts = parts
    this.#request = request
    this.#url = url
    this.#maxBytes = request.maxResponseBytes ?? parts.settings().maxResponseBytes
  }

  async run(agent: Agent): Promise<OutgoingResponse> {
    const { settings, clock } = this.#parts
    const { method = 'POST', headers = {}, body, signal, deadlineMs = settings().deadlineMs } = this.#request
    const { headerTimeoutMs, bodyTimeoutMs } = settings()
    const giveUp = () => this.#fail('aborted', 'Given up')
    signal?.addEventListener('abort', giveUp, { signal: this.#ended.signal })
    clock.sleep(deadlineMs, this.#ended.signal).then(() => {
      if (!this.#ended.signal.aborted) this.#fail('deadline-exceeded', `No answer within ${deadlineMs} ms`)
    })
    try {
      const { origin, pathname, search } = this.#url
      agent.dispatch(
        {
          ...{ origin, path: pathname + search, method, headersTimeout: headerTimeoutMs, bodyTimeout: bodyTimeoutMs },
          headers: { 'user-agent': 'plinth', ...lowerCased(headers), 'accept-encoding': 'identity' },
          ...(body === undefined ? {} : { body: typeof body === 'string' ? body : Buffer.from(body) }),
        },
        this,
      )
      return await this.#settled.promise
    } catch (error) {
      throw error instanceof OutgoingHttpError ? error : this.#failure(error)
    } finally {
      this.#ended.abort(over)
    }
  }

  /** The request is about to be written: from here on it may arrive. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#ended.signal.aborted) controller.abort(new Error('ended'))
    else this.#controller = controller
  }

  onResponseStart(_: unknown, status: number, headers: NodeJS.Dict<string | string[]>): void {
    if (status < 200) return
    const joined = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value ?? ''].flat().join(', ')])
    this.#head = { status, headers: Object.fromEntries(joined) }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended.signal.aborted) return
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
    this.#settled.reject(this.#failure(error))
  }

  #answer(truncated: boolean): void {
    if (this.#head === undefined) return
    const body = Buffer.concat(this.#chunks).toString()
    this.#settled.resolve({ ...this.#head, body, truncated })
    this.#ended.abort(over)
  }

  #fail(code: OutgoingFailure, text: string): void {
    const { origin } = this.#url
    this.#settled.reject(new OutgoingHttpError(code, text, origin, this.#controller !== undefined))
    this.#ended.abort(over)
    this.#controller?.abort(new Error(text))
  }

  #failure(error: unknown): OutgoingHttpError {
    const started = this.#controller !== undefined
    const { origin } = this.#url
    if (error instanceof OutgoingHttpError) return new OutgoingHttpError(error.code, error.message, origin)
    const code = codeOf(error) ?? ''
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
}

const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
