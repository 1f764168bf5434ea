import { isOutgoingHttpError, type OutgoingHttp, type OutgoingResponse } from '@plinth/outgoing-http'
import type { ProviderFault } from '../contract.ts'

/** Error that contains only a code. It has no text of a library, because that text may contain the URL. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly fault: ProviderFault

  constructor(fault: ProviderFault) {
    super(fault)
    this.fault = fault
  }
}

export interface RpcSettings {
  readonly deadlineMs: number
  /** Calls per request. 1 disables batches. */
  readonly batchSize: number
  readonly maxResponseBytes: number
}

interface WaitingCall {
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
  readonly settle: PromiseWithResolvers<unknown>
}

const maxInFlight = 4
const maxWaiting = 20_000

/**
 * Sends JSON-RPC calls. Calls of the same event loop tick share a request. Each caller gets only the response with the
 * id of its call.
 */
export class JsonRpc {
  readonly #http: Pick<OutgoingHttp, 'request'>
  readonly #url: string
  readonly #settings: () => RpcSettings
  #waiting: WaitingCall[] = []
  #inFlight = 0
  #isScheduled = false
  #lastId = 0

  constructor(http: Pick<OutgoingHttp, 'request'>, url: string, settings: () => RpcSettings) {
    this.#http = http
    this.#url = url
    this.#settings = settings
  }

  /** Sends a call and returns its result. @throws RpcError */
  call(method: string, params: readonly unknown[] = []): Promise<unknown> {
    if (this.#waiting.length >= maxWaiting) return Promise.reject(new RpcError('overloaded'))
    const settle = Promise.withResolvers<unknown>()
    this.#waiting.push({ id: ++this.#lastId, method, params, settle })
    this.#scheduleBatch()
    return settle.promise
  }

  #scheduleBatch(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendWaiting()
    })
  }

  #sendWaiting(): void {
    const { batchSize } = this.#settings()
    while (this.#inFlight < maxInFlight && this.#waiting.length > 0) {
      const calls = this.#waiting.slice(0, batchSize)
      this.#waiting = this.#waiting.slice(batchSize)
      this.#inFlight++
      this.#exchange(calls).finally(() => {
        this.#inFlight--
        this.#sendWaiting()
      })
    }
  }

  async #exchange(calls: readonly WaitingCall[]): Promise<void> {
    try {
      settleAll(calls, await this.#answersTo(calls))
    } catch (error) {
      const fault = error instanceof RpcError ? error : new RpcError('unreachable')
      // One large receipt may exceed the limit. Halving the batch lets the other calls succeed.
      if (fault.fault === 'answer-too-large' && calls.length > 1) {
        const half = Math.ceil(calls.length / 2)
        await this.#exchange(calls.slice(0, half))
        await this.#exchange(calls.slice(half))
      } else for (const { settle } of calls) settle.reject(fault)
    }
  }

  async #answersTo(calls: readonly WaitingCall[]): Promise<readonly unknown[]> {
    const { deadlineMs, batchSize, maxResponseBytes } = this.#settings()
    const requests = calls.map(({ id, method, params }) => ({ jsonrpc: '2.0', id, method, params }))
    const isBatch = batchSize > 1
    const response = await this.#request({
      url: this.#url,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(isBatch ? requests : requests[0]),
      deadlineMs,
      maxResponseBytes,
    })
    if (response.status === 429) throw new RpcError('rate-limited')
    if (response.status !== 200) throw new RpcError('http-status')
    if (response.truncated) throw new RpcError('answer-too-large')
    const parsed = parse(response.body)
    if (!isBatch) return [parsed]
    if (!Array.isArray(parsed)) throw new RpcError('answer-invalid')
    return parsed
  }

  async #request(request: Parameters<OutgoingHttp['request']>[0]): Promise<OutgoingResponse> {
    try {
      return await this.#http.request(request)
    } catch (error) {
      const code = isOutgoingHttpError(error) ? error.code : ''
      throw new RpcError(/timeout|deadline/.test(code) ? 'timeout' : 'unreachable')
    }
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RpcError('answer-invalid')
  }
}

/** Passes each response to its call. An unknown id means that responses were mixed up, so the whole batch fails. */
function settleAll(calls: readonly WaitingCall[], responses: readonly unknown[]): void {
  const byId = new Map<unknown, object>(responses.map((answer) => [Object(answer).id, Object(answer)]))
  const known = new Set<unknown>(calls.map(({ id }) => id))
  if (byId.size !== responses.length || ![...byId.keys()].every((id) => known.has(id)))
    throw new RpcError('answer-invalid')
  for (const { id, settle } of calls) {
    const answer = byId.get(id)
    if (answer === undefined) settle.reject(new RpcError('answer-invalid'))
    else if ('error' in answer && answer.error != null) settle.reject(new RpcError('rpc-error'))
    else if ('result' in answer) settle.resolve(answer.result)
    else settle.reject(new RpcError('answer-invalid'))
  }
}
