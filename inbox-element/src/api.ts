import type { GetToken } from './types.ts'

/** Time limit in milliseconds of a request, and of a call of `getToken`. */
const timeoutMs = 15_000

/** Error of an operation. */
export class InboxError extends Error {
  override readonly name = 'InboxError'
  /** Code of the response, for example `401`; `network` without a response; `token` if there is no token. */
  readonly code: string

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

interface ApiSettings {
  readonly apiUrl: () => string
  readonly getToken: () => GetToken | undefined
  readonly locale: () => string
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: object
  /** True for a request that continues after the page is closed. */
  readonly keepalive?: boolean
}

/** Calls operations of the inbox with a token, and renews the token. */
export class InboxApi {
  readonly #settings: ApiSettings
  #token: string | undefined
  #renewing: Promise<string> | undefined
  /** Number of calls of `forget`. A token that was requested before the last one is not stored. */
  #forgotten = 0

  constructor(settings: ApiSettings) {
    this.#settings = settings
  }

  /**
   * Returns `data` of the response. If the token is rejected, renews it and repeats the call once.
   *
   * @param path below `/api/v1/notifications`
   * @throws InboxError
   */
  async call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
    const token = await this.token()
    try {
      return await this.#send<T>(method, path, options, token)
    } catch (error) {
      if (!(error instanceof InboxError) || error.code !== '401') throw error
      return this.#send<T>(method, path, options, await this.renew(token))
    }
  }

  /** Returns the current token, or gets one. @throws InboxError `token` */
  async token(): Promise<string> {
    return this.#token ?? this.renew(undefined)
  }

  /** Returns a token other than the rejected one. Calls at the same time share one call of `getToken`. */
  async renew(rejected: string | undefined): Promise<string> {
    if (this.#token !== undefined && this.#token !== rejected) return this.#token
    if (this.#renewing !== undefined) return this.#renewing
    const renewing = this.#request().finally(() => {
      if (this.#renewing === renewing) this.#renewing = undefined
    })
    this.#renewing = renewing
    return renewing
  }

  /** Forgets the token, so that the next call gets another one. */
  forget(): void {
    this.#forgotten++
    this.#token = undefined
    this.#renewing = undefined
  }

  /** Returns the address of the realtime connection. The token is never part of it. */
  socketUrl(): string {
    const url = new URL(`${this.#base()}/api/v1/ws`, document.baseURI)
    url.protocol = url.protocol.replace('http', 'ws')
    url.searchParams.set('locale', this.#settings.locale())
    return url.href
  }

  async #request(): Promise<string> {
    const getToken = this.#settings.getToken()
    if (getToken === undefined) throw new InboxError('token', 'Set the property getToken or the attribute token-url.')
    const forgotten = this.#forgotten
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new Error(`No token within ${timeoutMs} ms`)), timeoutMs)
    try {
      const source = await Promise.race([getToken(), late.promise])
      const token = typeof source === 'string' ? source : 'token' in source ? source.token : source.data?.token
      if (typeof token !== 'string' || token === '') throw new Error('There is no token in the response')
      if (forgotten === this.#forgotten) this.#token = token
      return token
    } catch (error) {
      throw new InboxError('token', 'No token could be obtained.', { cause: error })
    } finally {
      clearTimeout(timer)
    }
  }

  async #send<T>(method: string, path: string, options: CallOptions, token: string): Promise<T> {
    const { query = {}, body, keepalive = false } = options
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value))
    const url = `${this.#base()}/api/v1/notifications${path}${search.size > 0 ? `?${search}` : ''}`
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      'accept-language': this.#settings.locale(),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    }
    let response: Response
    try {
      response = await fetch(url, {
        method,
        headers,
        keepalive,
        // A session cookie of the same site must not accompany the token.
        credentials: 'omit',
        signal: AbortSignal.timeout(timeoutMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    } catch (error) {
      throw new InboxError('network', 'The server cannot be reached.', { cause: error })
    }
    const envelope: unknown = await response.json().catch(() => undefined)
    const { code = String(response.status), message = '', data } = Object(envelope)
    if (envelope === undefined || code !== '200') throw new InboxError(code, message)
    return data
  }

  #base(): string {
    return this.#settings.apiUrl().replace(/\/+$/, '')
  }
}
