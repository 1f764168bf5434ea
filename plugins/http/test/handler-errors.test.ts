/** Tests what an author learns about mistakes in handlers and routes. */

import { startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct } from '@plinth/kernel'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import t from 'tap'
import httpPlugin, { type HttpServer, http, Type } from '../src/index.ts'
import { startHttp } from './start-http.ts'

const facts = { method: 'GET', summary: 'A route', access: 'public', response: Type.Null() } as const

t.test('an error of a handler is logged as an error of its plugin', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) })
  const fail = (thrown: unknown) => () => {
    throw thrown
  }
  const addRoutes = (server: HttpServer) => {
    server.route({ ...facts, path: '/api/v1/shop/error', handler: fail(new Error('no till')) })
    server.route({ ...facts, path: '/api/v1/shop/object', handler: fail({ secret: 'open sesame' }) })
    const { response: _, ...raw } = facts
    server.rawRoute({ ...raw, path: '/api/v1/shop/raw', produces: ['text/csv'], handler: fail(new Error('no file')) })
    server.register(async (app: FastifyInstance) => void app.get('/shop/page', fail(new Error('no page'))), 'public')
  }
  const { call } = await startHttp(t, addRoutes, { logger })
  const rows = [
    ['/api/v1/shop/error', 'no till'],
    ['/api/v1/shop/object', 'The handler threw object instead of an error'],
    ['/api/v1/shop/raw', 'no file'],
    ['/shop/page', 'no page'],
  ] as const
  for (const [path, message] of rows) {
    t.equal((await call(path)).body.code, '500')
    const line = lines.pop() ?? ''
    t.hasStrict(JSON.parse(line), { plugin: 'shop', route: path, err: { message } })
    t.equal(line.split('"plugin"').length, 2, 'the line has one plugin')
    t.notMatch(line, 'open sesame')
  }
})

t.test('a route that declares a body for GET is rejected with its plugin', async (t) => {
  const addRoutes = (server: HttpServer) =>
    server.route({ ...facts, path: '/api/v1/shop/items', request: { body: Type.Object({}) }, handler: () => null })
  const error = await startHttp(t, addRoutes).catch((thrown: unknown) => thrown)
  t.hasStrict((error as Error).cause, { code: 'PLINTH_HTTP_ROUTE_REFUSED' })
  t.match(String((error as Error).cause), /GET \/api\/v1\/shop\/items of plugin "shop" is wrong: it declares a body/)
})

t.test('a handler that forgets its result is found in every test of an author', async (t) => {
  const shop = definePlugin({
    id: 'shop',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    setup({ services }) {
      const response = Type.Object({ id: Type.Integer() })
      services.http.route({ ...facts, path: '/api/v1/shop/item', response, handler: () => ({}) as never })
    },
  })
  const product = defineProduct({
    name: 'test',
    plugins: [httpPlugin, shop],
    config: { 'platform.http.port': 0, 'platform.http.host': '127.0.0.1' },
  })
  const codeOf = async (config: object) => {
    const running = await startForTest({ ...product, config: { ...product.config, ...config } })
    t.teardown(() => running.stop('test ended'))
    const { data } = (await running.service(http).inject({ url: '/api/v1/shop/item' })).json()
    return data?.reason
  }
  t.equal(await codeOf({}), 'http.response-invalid')
  t.equal(await codeOf({ 'platform.http.response-check': false }), undefined, 'unless the product says otherwise')
})
