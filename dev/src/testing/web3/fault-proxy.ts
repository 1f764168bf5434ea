import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface ProxiedCall {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

interface ProxiedResponse {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: unknown
  readonly error?: unknown
}

/** Failures that the proxy simulates. */
export type ProviderFault =
  | 'status-500'
  | 'status-429'
  /** HTML page of a firewall with status 200. */
  | 'html'
  /** The connection is reset without a response. */
  | 'reset'
  /** The server never responds. */
  | 'hang'
  /** The response starts but never ends. */
  | 'half'
  | 'rpc-error'
  | 'wrong-id'
  /** The responses are in another order, which is allowed. */
  | 'reordered'
  | 'answer-missing'
  | 'no-result'
  | 'truncated-json'
  | 'refuses-batches'
  | 'redirect'
  | 'other-chain'
  /** The head is far behind, and its blocks are a day old. */
  | 'stale-head'
  | 'status-missing'
  | 'logs-null'
  /** The receipt of every transaction is replaced by the receipt of the first requested transaction. */
  | 'other-receipt'
  /** A JSON-RPC error for receipts, as geth returns it while it indexes. */
  | 'receipt-refused'
  /** The node does not respond to requests that contain a receipt call. */
  | 'receipt-hang'
  /** The node does not respond to requests that contain a contract call. */
  | 'contract-hang'
  | 'removed-logs'
  /** Another block is now at the height of a receipt. */
  | 'other-block'
  | 'safe-refused'

export interface FaultProxy {
  /** URL of the proxy. Its path contains a secret that must not appear in logs or responses. */
  readonly url: string
  readonly secret: string
  readonly host: string
  readonly port: number
  /** Failure to simulate. If undefined, all calls pass unchanged. */
  fault: ProviderFault | undefined
  /** Changes the results of calls, after the simulated failure. */
  rewrite: ((call: ProxiedCall, result: unknown) => unknown) | undefined
  /** Methods of the calls, per HTTP request. */
  readonly requests: readonly (readonly string[])[]
  clear(): void
  close(): Promise<void>
}

const jsonHeaders = { 'content-type': 'application/json' }
/** Number of blocks that a stale node is behind. */
const behind = 60
const secondsOfADay = 86_400
const receiptMethod = 'eth_getTransactionReceipt'
/** A request with this method gets no response. */
const hangingMethods: Readonly<Record<string, string>> = {
  'receipt-hang': receiptMethod,
  'contract-hang': 'eth_call',
}

/** The caller must close the proxy. */
export async function startFaultProxy(target: string, secret = 'PLANTED-provider-key-7f3a'): Promise<FaultProxy> {
  const requests: (readonly string[])[] = []
  const state: Pick<FaultProxy, 'fault' | 'rewrite'> = { fault: undefined, rewrite: undefined }
  let firstReceipt: unknown

  async function answersOf(
    body: string,
  ): Promise<{ calls: ProxiedCall[]; answers: ProxiedResponse[]; isBatch: boolean }> {
    const requested: ProxiedCall | ProxiedCall[] = JSON.parse(body)
    const calls = [requested].flat()
    requests.push(calls.map(({ method }) => method))
    const response = await fetch(target, { method: 'POST', headers: jsonHeaders, body: JSON.stringify(calls) })
    const answered: ProxiedResponse | ProxiedResponse[] = JSON.parse(await response.text())
    const answers = [answered].flat()
    const byId = new Map(answers.map((answer) => [answer.id, answer]))
    const ordered = calls.map((call) => byId.get(call.id) ?? { jsonrpc: '2.0', id: call.id, result: null })
    return { calls, answers: ordered, isBatch: Array.isArray(requested) }
  }

  const rewritten = (call: ProxiedCall, answer: ProxiedResponse): ProxiedResponse => {
    if (call.method === receiptMethod && answer.result !== null) firstReceipt ??= answer.result
    const faulty = withFault(state.fault, call, answer, firstReceipt)
    if (state.rewrite === undefined || !('result' in faulty)) return faulty
    return { ...faulty, result: state.rewrite(call, faulty.result) }
  }

  const server = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    if (endedEarly(state.fault, response, request.socket)) {
      requests.push([JSON.parse(body)].flat().map(({ method }: ProxiedCall) => method))
      return
    }
    const { calls, answers, isBatch } = await answersOf(body)
    const hanging = hangingMethods[state.fault ?? '']
    if (hanging !== undefined && calls.some(({ method }) => method === hanging)) return
    const changed = calls.map((call, at) => rewritten(call, answers[at] ?? { jsonrpc: '2.0', id: call.id }))
    if (state.fault === 'reordered') changed.reverse()
    if (state.fault === 'answer-missing') changed.pop()
    const whole = JSON.stringify(isBatch && state.fault !== 'refuses-batches' ? changed : changed[0])
    const rejection = JSON.stringify({
      jsonrpc: '2.0',
      id: null,
      error: { code: -32600, message: `no batches ${secret}` },
    })
    const written = isBatch && state.fault === 'refuses-batches' ? rejection : whole
    response.writeHead(200, jsonHeaders)
    if (state.fault === 'half') response.write(written.slice(0, written.length / 2))
    else response.end(state.fault === 'truncated-json' ? written.slice(0, -5) : written)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { address: host, port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http://${host}:${port}/v2/${secret}`,
    secret,
    host,
    port,
    requests,
    clear() {
      requests.length = 0
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

/** True if the failure has ended the request, so that the node is not queried. */
function endedEarly(fault: ProviderFault | undefined, response: ServerResponse, socket: { destroy(): void }): boolean {
  switch (fault) {
    case 'status-500':
      response.writeHead(500, jsonHeaders).end('{"error":"internal"}')
      return true
    case 'status-429':
      response.writeHead(429, { ...jsonHeaders, 'retry-after': '1' }).end('{"error":"too many requests"}')
      return true
    case 'html':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Checking your browser</body></html>')
      return true
    case 'redirect':
      response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
      return true
    case 'reset':
      socket.destroy()
      return true
    case 'hang':
      return true
    default:
      return false
  }
}

type Fields = Readonly<Record<string, unknown>>

function withFault(
  fault: ProviderFault | undefined,
  { method, params }: ProxiedCall,
  answer: ProxiedResponse,
  firstReceipt: unknown,
): ProxiedResponse {
  const { result, ...head } = answer
  const fields = result as Fields | null
  const isReceipt = method === receiptMethod && fields !== null
  const changed = (next: unknown): ProxiedResponse => ({ ...head, result: next })
  if (fault === 'rpc-error') return { ...head, error: { code: -32000, message: 'header not found' } }
  if (fault === 'wrong-id') return { ...answer, id: 'another' }
  if (fault === 'no-result') return head
  if (fault === 'other-chain' && method === 'eth_chainId') return changed('0x5')
  if (fault === 'stale-head' && method === 'eth_blockNumber') {
    return changed(`0x${Math.max(0, Number(result) - behind).toString(16)}`)
  }
  if (fault === 'receipt-refused' && method === receiptMethod) {
    return { ...head, error: { code: -32000, message: 'transaction indexing is in progress' } }
  }
  if (fault === 'stale-head' && method === 'eth_getBlockByNumber' && fields !== null) {
    return changed({ ...fields, timestamp: `0x${(Number(fields['timestamp']) - secondsOfADay).toString(16)}` })
  }
  if (
    fault === 'safe-refused' &&
    method === 'eth_getBlockByNumber' &&
    String(params[0]).match(/^(?:safe|finalized)$/)
  ) {
    return { ...head, error: { code: -32602, message: 'unknown block tag' } }
  }
  if (fault === 'other-block' && method === 'eth_getBlockByNumber' && fields !== null) {
    return changed({ ...fields, hash: `0x${'ab'.repeat(32)}` })
  }
  if (!isReceipt) return answer
  if (fault === 'status-missing')
    return changed(Object.fromEntries(Object.entries(fields).filter(([name]) => name !== 'status')))
  if (fault === 'logs-null') return changed({ ...fields, logs: null })
  if (fault === 'other-receipt') return changed(firstReceipt)
  if (fault === 'removed-logs') {
    return changed({ ...fields, logs: (fields['logs'] as Fields[]).map((log) => ({ ...log, removed: true })) })
  }
  return answer
}
