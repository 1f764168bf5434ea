import { connect } from 'node:net'
import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type Plugin } from '@plinth/kernel'
import type { StartOptions } from '@plinth/kernel/host'
import type { Test } from 'tap'
import httpPlugin, { type HttpServer, http } from '../src/index.ts'

/** A response with its body as text and, if it is JSON, as a value. */
interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
  readonly body: any
}

/**
 * On a busy host the load shedder would otherwise reject requests. Responses are not checked, because tests show what a
 * product does with wrong ones.
 */
const patience = { 'platform.http.overload.max-wait': '1m', 'platform.http.response-check': 'false' }

/** Starts a product with the server on a free port and the routes of the test. It is stopped when the test ends. */
export async function startHttp(
  t: Test,
  addRoutes: (server: HttpServer) => void = () => {},
  {
    plugins = [],
    businessErrors = [],
    ...options
  }: StartOptions & Partial<Pick<Plugin, 'businessErrors'>> & { readonly plugins?: readonly Plugin[] } = {},
) {
  const shop = definePlugin({
    id: 'shop',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    businessErrors,
    setup: ({ services }) => addRoutes(services.http),
  })
  const product = defineProduct({ name: 'Test shop', version: '2.3.4', plugins: [httpPlugin, shop, ...plugins] })
  const running = await startForTest(product, {
    ...options,
    set: { 'platform.http.port': '0', ...patience, ...options.set },
  })
  t.teardown(() => running.stop('test ended').catch(() => undefined))
  const server = running.service(http)
  const call = async (path: string, init?: RequestInit): Promise<ApiResponse> => {
    const response = await fetch(`${server.url}${path}`, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false
    return {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson && text !== '' ? JSON.parse(text) : undefined,
    }
  }
  const send = (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
    call(path, { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })
  const port = () => Number(new URL(server.url as string).port)
  return { running, server, call, send, port }
}

/**
 * Sends exactly these bytes on a new connection. Returns everything that the server sends until it closes the
 * connection.
 */
export function exchangeRawHttp(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'))
    socket.setEncoding('utf8')
    socket.on('data', (chunk) => {
      received += chunk
    })
    socket.on('end', () => resolve(received))
    socket.on('error', reject)
  })
}

/** Returns the JSON body of a raw response. */
// biome-ignore lint/suspicious/noExplicitAny: tests read bodies of any shape
export const bodyOf = (response: string): any => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))
