import { operationTypes } from '@plinth/dev/openapi'
import { assertMembers, rejectsWith, throwsWith } from '@plinth/dev/testing'
import { BusinessError, definePlugin, healthCheck, type MessageTree, type Plugin } from '@plinth/kernel'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import t, { type Test } from 'tap'
import { type TSchema, Type } from 'typebox'
import { http } from '../src/contract.ts'
import {
  type GuardHandler,
  type HttpServer,
  http as httpRef,
  page,
  pageQuery,
  publishedApi,
  type RouteDeclaration,
  type RouteGuard,
  type RouteInfo,
  type RouteWrapper,
  routesWith,
  serializedDataOf,
  sortQuery,
} from '../src/index.ts'
import { messages } from '../src/texts.ts'
import { startHttp } from './start-http.ts'

const route = (path: string, more: Partial<RouteDeclaration> = {}): RouteDeclaration => ({
  method: 'GET',
  path,
  summary: 'A route',
  access: 'public',
  response: Type.Object({ who: Type.String() }),
  handler: () => ({ who: 'handler' }),
  ...more,
})

/**
 * Starts a server with this registration. Returns the reason if the registration was rejected, or `undefined` if it was
 * accepted.
 */
async function rejection(
  t: Test,
  register: (http: HttpServer) => void,
  plugins: readonly Plugin[] = [],
): Promise<string | undefined> {
  return startHttp(t, register, { plugins }).then(
    () => undefined,
    (error: Error) => error.message,
  )
}

t.test('doctor names every route whose schemas no validator understands', async (t) => {
  const query = Type.Object({ a: Type.Unsafe({ type: 'nonsense' }) })
  const { running } = await startHttp(t, (http) => http.route(route('/api/v1/shop/broken', { request: { query } })), {
    roles: ['cli'],
  })
  const check = running.contributions(healthCheck).get('http.schemas')
  await rejectsWith(t, Promise.resolve(check?.(new AbortController().signal)), {
    code: 'PLINTH_HTTP_SCHEMA_INVALID',
    message: /request \(querystring\) of GET \/api\/v1\/shop\/broken/,
  })
})

t.test('a route with a permission and without a data scope prevents the start', async (t) => {
  const access = { permission: 'shop:view' } as never
  const path = '/api/v1/admin/shop/items'
  const missing = await rejection(t, (http) => http.route(route(path, { access })))
  t.match(missing, /PLINTH_HTTP_SCOPE_MISSING.*Route GET \/api\/v1\/admin\/shop\/items of plugin "shop"/)
  const unknown = { permission: 'shop:view', scope: 'some' } as never
  t.match(await rejection(t, (http) => http.route(route(path, { access: unknown }))), /PLINTH_HTTP_SCOPE_MISSING/)
  t.match(await rejection(t, (http) => http.register(async () => {}, access)), /PLINTH_HTTP_SCOPE_MISSING/)
  for (const scope of ['caller', 'all', 'none'] as const) {
    const declared = { permission: 'shop:view', scope }
    t.equal(await rejection(t, (http) => http.route(route(path, { access: declared }))), undefined, scope)
  }
})

t.test('C-025 C-026 C-027 C-030 a path that violates the rule prevents the start', async (t) => {
  const admin = { permission: 'shop:view', scope: 'none' } as const
  const accepted: readonly Partial<RouteDeclaration>[] = [
    { path: '/api/v1/shop' },
    { path: '/api/v2/shop/items/:itemId/lines' },
    { path: '/api/v1/ai/gateway/anthropic/v1/messages' },
    { path: '/api/v1/admin/shop/items', access: admin },
    { path: '/api/v1/admin/shop', access: 'user' },
    { path: '/api/v1/notifications', access: admin, legacyPath: true },
    { path: '/api/v1/notification-rules/:id', access: admin, legacyPath: true },
  ]
  for (const declaration of accepted) {
    t.equal(await rejection(t, (http) => http.route(route('', declaration))), undefined, `${declaration.path}`)
  }
  const rejected: readonly (readonly [Partial<RouteDeclaration>, RegExp])[] = [
    [{ path: '/shop' }, /is not \/api\/v\{major\}/],
    [{ path: '/api/shop' }, /is not/],
    [{ path: '/api/v1' }, /is not/],
    [{ path: '/api/v0/shop' }, /is not/],
    [{ path: '/api/v1/Shop' }, /is not/],
    [{ path: '/api/v1/shop/' }, /is not/],
    [{ path: '/api/v1/shop_items' }, /is not/],
    [{ path: '/api/v1/shop/:item_id' }, /is not/],
    [{ path: '/api/v1/admin' }, /is not/],
    [{ path: '/api/v1/shop/admin/items', access: admin }, /"admin" behind the domain/],
    [{ path: '/api/v1/admin/shop/items', access: 'public' }, /anybody may call/],
    [{ path: '/api/v1/shop/items', access: admin }, /needs a permission, so it belongs under/],
    [{ path: '/api/v1/notifications', access: admin }, /needs a permission/],
    [{ path: '/api/v1/shop', legacyPath: true }, /has "legacyPath" although its path follows the rule/],
    [{ path: '/api/v1/admin/shop', access: admin, legacyPath: true }, /has "legacyPath"/],
    [{ path: '/api/v1/Shop', access: admin, legacyPath: true }, /is not/],
    [{ path: '/api/v1/shop', access: admin, legacyPath: 'yes' as never }, /legacyPath must be/],
    [{ path: '/api/v1/shop', access: undefined as never }, /no access rule/],
  ]
  for (const [first, name] of [
    ['shop.items', 'shop.items'],
    [{ method: 'GET', handler: () => null }, 'GET \\(no path\\)'],
    [{ path: '/api/v1/shop', handler: () => null }, '\\(no method\\) /api/v1/shop'],
  ] as const) {
    const message = await rejection(t, (http) =>
      (http.route as (...words: unknown[]) => void)(first, { path: '/api/v1/shop' }),
    )
    t.match(message, new RegExp(`PLINTH_HTTP_ROUTE_REFUSED.* ${name} of plugin "shop" is not a declaration`))
  }
  const withoutSummary = { method: 'GET', path: '/api/v1/shop', access: 'public', handler: () => null }
  const missing = /Route GET \/api\/v1\/shop of plugin "shop" is wrong: .*summary must be text, but is missing/
  t.match(await rejection(t, (http) => http.rawRoute(withoutSummary as never)), missing)
  const bare = await rejection(t, (http) => http.addRoutes([withoutSummary as never]))
  t.match(bare, /Route GET \/api\/v1\/shop of plugin "shop" did not go through route\(\) or rawRoute\(\)/)
  for (const [declaration, reason] of rejected) {
    const message = await rejection(t, (http) => http.route(route('', declaration)))
    t.match(message, reason, `${declaration.path}`)
    t.match(message, /PLINTH_HTTP_ROUTE_REFUSED.*of plugin "shop"/)
  }
  const other = definePlugin({
    id: 'menu',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http: httpRef },
    setup: ({ services }) => services.http.route(route('/api/v1/shop/:itemId')),
  })
  const twice = await rejection(t, (http) => http.route(route('/api/v1/shop/:id')), [other])
  t.match(twice, /GET \/api\/v1\/shop\/:itemId of plugin "menu" is taken by \/api\/v1\/shop\/:id of plugin "shop"/)
  t.equal(
    await rejection(t, (http) => {
      http.route(route('/api/v1/shop/:id'))
      http.route(route('/api/v1/shop/templates'))
      http.route(route('/api/v1/shop/:id', { method: 'PUT' }))
    }),
    undefined,
    'static beside parameter, other method (D7)',
  )
})

t.test('C-028 only the path selects the version', async (t) => {
  const { call } = await startHttp(t, (http) => {
    http.route(route('/api/v1/shop/who', { handler: () => ({ who: 'one' }) }))
    http.route(route('/api/v2/shop/who', { handler: () => ({ who: 'two' }) }))
  })
  for (const headers of [{}, { 'accept-version': '2' }, { 'accept-version': 'x', 'api-version': '2' }]) {
    t.equal(
      (await call('/api/v1/shop/who?version=2', { headers: headers as Record<string, string> })).body.data.who,
      'one',
    )
  }
  t.equal((await call('/api/v2/shop/who')).body.data.who, 'two')
})

t.test('registration ends when the server is built', async (t) => {
  const { server } = await startHttp(t)
  const ended = { code: 'PLINTH_HTTP_REGISTRATION_ENDED' }
  throwsWith(t, () => server.route(route('/api/v1/late')), ended)
  throwsWith(t, () => server.guard({ name: 'late', stage: 'access', forRoute: () => undefined }), ended)
  throwsWith(t, () => server.register((_app, _options, done) => done(), 'public'), ended)
  throwsWith(t, () => server.extend(async () => {}), ended)
})

t.test('C-021 a route that is not public is closed until an access guard accepts it', async (t) => {
  const allow: GuardHandler = () => {}
  const guarded = async (...guards: RouteGuard[]) => {
    const { call } = await startHttp(t, (http) => {
      http.route(route('/api/v1/shop/mine', { access: 'user' }))
      http.route(route('/api/v1/shop/open'))
      for (const guard of guards) http.guard(guard)
    })
    return { mine: (await call('/api/v1/shop/mine')).body.code, open: (await call('/api/v1/shop/open')).body.code }
  }
  t.same(await guarded(), { mine: '401', open: '200' })
  t.same(
    await guarded({ name: 'x', stage: 'gate', forRoute: () => allow }),
    { mine: '401', open: '200' },
    'a gate vouches for nobody',
  )
  t.same(await guarded({ name: 'x', stage: 'quota', forRoute: () => allow }), { mine: '401', open: '200' })
  t.same(await guarded({ name: 'x', stage: 'access', forRoute: () => undefined }), { mine: '401', open: '200' })
  t.same(await guarded({ name: 'x', stage: 'access', forRoute: () => allow }), { mine: '200', open: '200' })
})

t.test('guards run in the order gate, access, quota; a rejection stops everything after it', async (t) => {
  const ran: string[] = []
  const { send } = await startHttp(t, (http) => {
    const step =
      (name: string, isAsync: boolean): GuardHandler =>
      (request) => {
        ran.push(name)
        const act = () => {
          if (request.headers['x-stop-at'] === name) throw new BusinessError('403', `stopped at ${name}`)
        }
        return isAsync ? Promise.resolve().then(act) : act()
      }
    const add = (name: string, stage: RouteGuard['stage'], isAsync: boolean) =>
      http.guard({ name, stage, forRoute: ({ path }) => (path.endsWith('/guarded') ? step(name, isAsync) : undefined) })
    add('quota', 'quota', true)
    add('access', 'access', false)
    add('gate one', 'gate', true)
    add('gate two', 'gate', false)
    http.route(
      route('/api/v1/shop/guarded', {
        method: 'POST',
        access: 'user',
        request: { body: Type.Object({ n: Type.Integer() }) },
        handler: () => {
          ran.push('handler')
          return { who: 'x' }
        },
      }),
    )
  })
  const order = ['gate one', 'gate two', 'access', 'quota', 'handler']
  t.equal((await send('POST', '/api/v1/shop/guarded', { n: 1 })).body.code, '200')
  t.same(ran, order)
  for (const [index, name] of order.slice(0, -1).entries()) {
    ran.length = 0
    t.match((await send('POST', '/api/v1/shop/guarded', { n: 1 }, { 'x-stop-at': name })).body, {
      code: /^403$/,
      message: `stopped at ${name}`,
    })
    t.same(ran, order.slice(0, index + 1))
  }
  ran.length = 0
  t.equal((await send('POST', '/api/v1/shop/guarded', { n: 'x' })).body.code, '400')
  t.same(ran, ['gate one', 'gate two', 'access'], 'bad input burns no quota')
})

t.test(
  'a wrapper runs after the guards, sees the response and the error of the handler, and may respond itself',
  async (t) => {
    const seen: string[] = []
    const header = { description: 'Says what to do', schema: Type.String() }
    const around = (name: string): RouteWrapper => ({
      name,
      forRoute: ({ path }) =>
        path.endsWith('/plain')
          ? undefined
          : async (request, reply, handle) => {
              seen.push(`${name} before`)
              if (request.headers['x-order'] === name) return { who: name, inner: 1 }
              const answer = await handle().finally(() => seen.push(`${name} after`))
              return { ...(serializedDataOf(answer, reply) as object), outer: name }
            },
      headers: () => ({ request: { [`X-${name}`]: header }, response: { [`X-Was-${name}`]: header } }),
    })
    const { call, server } = await startHttp(t, (http) => {
      http.wrap(around('first'))
      http.route(route('/api/v1/shop/plain'))
      http.route(
        route('/api/v1/shop/items', {
          handler: () => {
            seen.push('handler')
            return { who: 'handler', undeclared: 'never leaves' } as never
          },
        }),
      )
      http.route(
        route('/api/v1/shop/failing', {
          handler: () => {
            throw new BusinessError('409', 'Taken.')
          },
        }),
      )
      http.guard({ name: 'quota', stage: 'quota', forRoute: () => () => void seen.push('quota') })
      http.wrap(around('second'))
    })
    t.match(await call('/api/v1/shop/plain'), { body: { data: { who: 'handler' } } })
    seen.length = 0
    t.same((await call('/api/v1/shop/items')).body.data, { who: 'handler' })
    t.same(seen, ['quota', 'first before', 'second before', 'handler', 'second after', 'first after'])
    seen.length = 0
    const own = await call('/api/v1/shop/items', { headers: { 'x-order': 'second' } })
    t.same(own.body, { code: '200', message: 'success', data: { who: 'second' } })
    t.notOk(seen.includes('handler'))
    seen.length = 0
    t.match(await call('/api/v1/shop/failing'), { body: { code: /^409$/, message: 'Taken.' } })
    t.same(seen.slice(-2), ['second after', 'first after'])
    const { paths } = await server.openapi()
    assertMembers(t, paths['/api/v1/shop/items']?.['get'], {
      parameters: [{ name: 'X-first', in: 'header', required: false, ...header }, { name: 'X-second' }],
      responses: { 200: { headers: { 'X-Was-first': header, 'X-Was-second': header } } },
    })
  },
)

t.test('guards see each route once, with pattern, plugin and annotations', async (t) => {
  const seen: unknown[] = []
  const { server } = await startHttp(t, (http) => {
    const look = (info: RouteInfo) => void (info.path.startsWith('/docs') || seen.push(info))
    http.guard({ name: 'look', stage: 'quota', forRoute: look })
    http.route(route('/api/v1/shop/:id', { annotations: [{ id: 'rate-limit', value: { maxAttempts: 3 } }] }))
    http.rawRoute({
      method: 'GET',
      path: '/',
      summary: 'Home',
      access: 'public',
      produces: ['text/html'],
      hidden: true,
      handler: () => 'x',
    })
  })
  const routes = server.routes.filter(({ path }) => !path.startsWith('/docs'))
  t.equal(seen.length, routes.length)
  t.match(
    seen,
    routes.toSorted((a, b) => Number(a.hidden) - Number(b.hidden)),
  )
  assertMembers(
    t,
    server.routes.find(({ plugin }) => plugin === 'shop'),
    {
      method: 'GET',
      path: '/api/v1/shop/:id',
      summary: 'A route',
      hidden: false,
      annotations: [{ id: 'rate-limit', value: { maxAttempts: 3 } }],
    },
  )
  t.same(
    routes
      .filter(({ hidden }) => hidden)
      .map(({ path }) => path)
      .sort(),
    ['/', '/health/live', '/health/ready', '/metrics'],
  )
})

t.test('a route declares how recent a proof of identity must be, and the API description contains it', async (t) => {
  const declared = (fresh: string, access: RouteDeclaration['access'] = 'user') =>
    rejection(t, (http) => http.route(route('/api/v1/shop/who', { fresh, access })))
  for (const wrong of ['59s', '24h1ms', 'soon', '5'])
    t.match(await declared(wrong), /fresh must be a duration from 1m to 24h/, `"${wrong}"`)
  for (const access of ['public', 'signed'] as const)
    t.match(await declared('5m', access), /fresh needs a signed-in user/, access)
  for (const allowed of ['1m', '5m', 'PT5M', '24h']) t.equal(await declared(allowed), undefined, allowed)

  const { server } = await startHttp(t, (http) => {
    http.route(route('/api/v1/shop/secret', { fresh: '5m', access: 'user' }))
    http.route(route('/api/v1/shop/plain', { access: 'user' }))
  })
  t.equal(server.routes.find(({ path }) => path.endsWith('/secret'))?.fresh, '5m')
  t.notOk('fresh' in (server.routes.find(({ path }) => path.endsWith('/plain')) ?? {}))
  const { paths } = publishedApi(await server.openapi())
  const [secret, plain] = ['secret', 'plain'].map((name) => paths[`/api/v1/shop/${name}`]?.['get'])
  t.equal(secret?.['x-fresh-proof'], 300)
  t.match(secret?.description, /proved their identity within the last 5m/)
  t.notOk('x-fresh-proof' in (plain ?? {}))
})

t.test('an error for an old proof has the challenge of RFC 9470', async (t) => {
  const thrown = (code: string) => () => {
    throw new BusinessError(code, 'Prove it', { reason: 'shop.proof', data: { maxAgeSeconds: 300 } })
  }
  const { call } = await startHttp(t, (http) => {
    http.route(route('/api/v1/shop/old', { handler: thrown('401') }))
    http.route(route('/api/v1/shop/other', { handler: thrown('409') }))
  })
  const old = await call('/api/v1/shop/old')
  t.equal(old.status, 200)
  t.equal(old.headers.get('www-authenticate'), 'Bearer error="insufficient_user_authentication", max_age="300"')
  t.equal((await call('/api/v1/shop/other')).headers.get('www-authenticate'), null)
})

t.test('Fastify plugins of integrators get their own context', async (t) => {
  const { call } = await startHttp(t, (http) => {
    http.register((app, _options, done) => {
      app.addHook('onRequest', async (_request, reply) => void reply.header('x-own', 'yes'))
      app.get('/own/page', async (_request, reply) => reply.type('text/html').send('<p>own</p>'))
      done()
    }, 'public')
    http.register(async (app: FastifyInstance) => {
      app.get('/own/async', async () => 'text')
    }, 'public')
    http.route(route('/api/v1/shop/who'))
  })
  const own = await call('/own/page')
  t.equal(own.text, '<p>own</p>')
  t.equal(own.headers.get('x-own'), 'yes')
  t.match(own.headers.get('content-security-policy'), /script-src 'self'/)
  t.equal((await call('/own/async')).text, 'text')
  const envelope = await call('/api/v1/shop/who')
  t.equal(envelope.headers.get('x-own'), null)
  t.equal(envelope.headers.get('content-security-policy'), null, 'an envelope is no page')
})

t.test('a Fastify plugin extends the whole application: hooks, decorators, body parsers', async (t) => {
  const forms = fastifyPlugin<{ readonly header: string }>(
    async (app, { header }) => {
      app.decorateRequest('form', 'none')
      app.addHook('onRequest', async (_request, reply) => void reply.header(header, 'yes'))
      app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
        done(null, Object.fromEntries(new URLSearchParams(String(body)))),
      )
      app.options('*', async (_request, reply) => reply.code(204).send())
    },
    { name: 'forms', fastify: '5.x', dependencies: ['plinth-json-bodies'] },
  )
  const own: FastifyPluginAsync = async (app) => {
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-context', 'yes'))
  }
  const { call, send } = await startHttp(t, (http) => {
    http.route(route('/api/v1/shop/before'))
    http.extend(forms, { header: 'x-forms' })
    http.extend(own)
    http.route({
      ...route('/api/v1/shop/orders', { method: 'POST', response: Type.Object({ name: Type.String() }) }),
      request: { body: Type.Object({ name: Type.String() }) },
      handler: ({ body }) => body,
    })
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const form = await call('/api/v1/shop/orders', { method: 'POST', headers, body: 'name=tea+cup' })
  t.same([form.body.code, form.body.data], ['200', { name: 'tea cup' }])
  t.equal((await send('POST', '/api/v1/shop/orders', { name: 'pot' })).body.data.name, 'pot', 'JSON is still parsed')
  for (const path of ['/api/v1/shop/before', '/api/v1/shop/unknown', '/health/live']) {
    const { headers } = await call(path)
    t.same([headers.get('x-forms'), headers.get('x-context')], ['yes', null], path)
  }
  t.equal((await call('/api/v1/shop/before', { method: 'OPTIONS' })).status, 204)
  const withRoute = fastifyPlugin(async (app) => void app.get('/open', async () => 'open'))
  t.match(
    await rejection(t, (http) => http.extend(withRoute)),
    /PLINTH_HTTP_ROUTE_REFUSED: Route GET \/open of plugin "shop" is part of a Fastify plugin without an access rule/,
  )
})

t.test('routes of a Fastify plugin are guarded by the access with which the plugin was registered', async (t) => {
  const files: FastifyPluginAsync = async (app) => {
    app.addHook('onRequest', async (_request, reply) => void reply.header('x-files', 'yes'))
    app.get('/files/one', async () => 'one')
    app.route({ method: ['GET', 'POST'], url: '/files/two', handler: async () => 'two' })
  }
  // This Fastify plugin registers its route outside of its own context, as plugins wrapped by fastify-plugin do.
  const spilling = Object.assign(async (app: FastifyInstance) => void app.get('/files/spilled', async () => 'x'), {
    [Symbol.for('skip-override')]: true,
  })
  const { call, server } = await startHttp(t, (http) => {
    http.register(files, 'user')
    http.register(spilling, { permission: 'shop:file:view', scope: 'none' })
    http.rawRoute({
      method: 'GET',
      path: '/page',
      summary: 'A page',
      access: 'public',
      hidden: true,
      produces: ['text/plain'],
      handler: () => 'page',
    })
  })
  for (const [method, path] of [
    ['GET', '/files/one'],
    ['HEAD', '/files/one'],
    ['POST', '/files/two'],
    ['GET', '/files/spilled'],
  ] as const) {
    const answer = await call(path, { method })
    if (method !== 'HEAD') t.equal(answer.body?.code, '401', `${method} ${path} answers nobody`)
    t.equal(answer.headers.get('x-files'), null, 'guards run first')
  }
  t.equal((await call('/page')).text, 'page', 'other routes are not touched')
  const listed = server.routes.filter(({ path }) => path.startsWith('/files/'))
  t.same(
    listed.map(({ method, path, plugin, access }) => [method, path, plugin, access]),
    [
      ['GET', '/files/one', 'shop', 'user'],
      ['GET', '/files/two', 'shop', 'user'],
      ['POST', '/files/two', 'shop', 'user'],
      ['GET', '/files/spilled', 'shop', { permission: 'shop:file:view', scope: 'none' }],
    ],
  )
  const open = await rejection(t, (http) => (http.register as (plugin: FastifyPluginAsync) => void)(files))
  t.match(open, /PLINTH_HTTP_ROUTE_REFUSED.*no access rule/)
})

t.test('routes are data: an array is added together with the objects that its handlers use', async (t) => {
  const { route, rawRoute } = routesWith<{ readonly greeting: string }>()
  const greetings = [
    route({
      method: 'GET',
      path: '/api/v1/shop/greetings/:name',
      summary: 'Greets',
      access: 'public',
      request: { params: Type.Object({ name: Type.String() }) },
      response: Type.Object({ text: Type.String() }),
      handler({ params }, { greeting }, reply) {
        reply.header('x-greeted', 'yes')
        return { text: `${greeting} ${params.name}` }
      },
    }),
    rawRoute({
      method: 'GET',
      path: '/api/v1/shop/greeting',
      summary: 'The greeting',
      access: 'public',
      produces: ['text/plain'],
      handler: (_request, { greeting }, reply) => reply.type('text/plain').send(greeting),
    }),
  ]
  const { call } = await startHttp(t, (http) => http.addRoutes(greetings, { greeting: 'Hello' }))
  const { body, headers } = await call('/api/v1/shop/greetings/Ada')
  t.equal(body.data.text, 'Hello Ada')
  t.equal(headers.get('x-greeted'), 'yes')
  t.equal((await call('/api/v1/shop/greeting')).text, 'Hello')
})

t.test('two operations with the same id prevent the start, and the error lists both', async (t) => {
  const clash =
    /GET \/api\/v1\/shop\/sold\/out of plugin "menu" has the operation id "getShopSoldOut" of GET \/api\/v1\/shop\/sold-out of plugin "shop"/
  const menu = (more: Partial<RouteDeclaration>) =>
    definePlugin({
      id: 'menu',
      version: '1.0.0',
      kernel: '^1.0.0',
      requires: { http: httpRef },
      setup: ({ services }) => services.http.route(route('/api/v1/shop/sold/out', more)),
    })
  const first = (http: HttpServer) => http.route(route('/api/v1/shop/sold-out'))
  t.match(await rejection(t, first, [menu({})]), clash)
  t.match(await rejection(t, first, [menu({ operationId: 'getShopSoldOut' })]), clash)
  t.equal(await rejection(t, first, [menu({ operationId: 'soldOutOf' })]), undefined, 'a name of its own helps')
  t.match(await rejection(t, first, [menu({ operationId: 'Sold out' })]), /operation id "Sold out" is not camelCase/)
})

const Line = Type.Object({
  sku: Type.String(),
  amount: Type.Integer(),
  price: Type.Union([Type.Number(), Type.Null()]),
})
const addCatalogue = (http: HttpServer) => {
  const sort = sortQuery({ createdAt: 'created_at' }, 'createdAt')
  http.route(
    route('/api/v1/shop/orders', {
      request: { query: Type.Object({ ...pageQuery.properties, ...sort.properties }) },
      response: page(Line),
      handler: () => ({ items: [], page: 1, size: 20, total: 0 }),
    }),
  )
  http.route(
    route('/api/v1/shop/orders/:orderId', {
      access: 'user',
      request: { params: Type.Object({ orderId: Type.Integer({ description: 'Own order' }) }) },
    }),
  )
  http.route(
    route('/api/v1/admin/shop/orders', {
      method: 'POST',
      access: { permission: 'shop:order:create', scope: 'none' },
      tags: ['orders'],
      request: {
        body: Type.Object({
          lines: Type.Array(Line),
          pair: Type.Tuple([Type.String(), Type.Integer()]),
          note: Type.String({ default: '' }),
        }),
      },
    }),
  )
  http.route(
    route('/api/v1/shop/old', {
      method: 'DELETE',
      description: 'Removes.',
      deprecated: {
        since: '1.2.0',
        replacement: 'DELETE /api/v2/shop/orders/{orderId}',
        migration: 'Name the order in the path.',
      },
      request: { body: Type.Object({ reason: Type.Optional(Type.String()) }) },
    }),
  )
  http.route(route('/api/v2/shop/old', { method: 'DELETE', response: Type.Null(), handler: () => null }))
  http.route(route('/api/v1/shop/sold-out'))
  http.route(route('/api/v1/shop/sold/out', { operationId: 'soldOutOf' }))
  for (const owner of ['shop', 'menu']) {
    const Node = Type.Cyclic(
      { Node: Type.Object({ [`${owner}Name`]: Type.String(), children: Type.Array(Type.Ref('Node')) }) },
      'Node',
    )
    const tree = { [`${owner}Name`]: 'a', children: [{ [`${owner}Name`]: 'b', children: [] }] }
    http.route(route(`/api/v1/${owner}/tree`, { response: Node, handler: () => tree }))
    http.route(
      route(`/api/v1/${owner}/tree`, {
        method: 'PUT',
        request: { body: Node },
        response: Node,
        handler: ({ body }) => body,
      }),
    )
  }
  http.rawRoute({
    method: 'GET',
    path: '/api/v1/shop/orders/export',
    summary: 'Export',
    access: 'user',
    produces: ['text/csv'],
    handler: () => 'a',
  })
  http.rawRoute({
    method: 'GET',
    path: '/shop/page',
    summary: 'Page',
    access: 'public',
    produces: ['text/html'],
    hidden: true,
    handler: () => 'a',
  })
}

t.test('C-045 C-036 C-029 the API description is OpenAPI 3.1 and covers every route', async (t) => {
  const { call, server } = await startHttp(t, addCatalogue)
  const document = (await call('/docs/openapi.json')).body
  t.same(document, JSON.parse(JSON.stringify(publishedApi(await server.openapi()))))
  t.match(document, { openapi: '3.1.1', info: { title: 'Test shop', version: '2.3.4' } })
  t.ok(document.paths['/api/v1/shop/orders'], 'C-029 release 2.3.4 serves version 1 of the API')

  const described = Object.entries(document.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const declared = server.routes
    .filter(({ hidden }) => !hidden)
    .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
  t.same(described.sort(), declared.sort())

  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, methods]) => Object.values(methods).map((operation) => ({ ...operation, path })),
  )
  t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length, 'operation ids are unique')
  const ajv = addFormats.default(
    new Ajv2020({ strict: true, strictTypes: false, strictTuples: false }) as never,
  ) as unknown as Ajv2020
  ajv.addVocabulary(['components', 'x-title', 'x-sort', 'x-null-with'])
  ajv.addSchema({ $id: 'document', components: document.components })
  for (const { path, parameters = [], requestBody, responses, summary } of operations) {
    t.ok(summary)
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    t.same(
      parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name),
      inPath,
      path,
    )
    const bodies = [requestBody, ...Object.values(responses)].flatMap((part) => Object.values(part?.content ?? {}))
    for (const schema of [...parameters, ...bodies].flatMap((part) => part.schema ?? [])) {
      const rooted = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'))
      t.ok(ajv.compile(rooted), path)
    }
  }

  const operation = (method: string, path: string): Operation => document.paths[path][method]
  assertMembers(t, operation('get', '/api/v1/shop/orders').parameters, [
    { name: 'page', in: 'query', required: false, schema: { type: 'integer', default: 1, minimum: 1 } },
    { name: 'size', in: 'query', required: false },
    { name: 'sort', in: 'query', required: false, schema: { type: 'array' } },
  ])
  assertMembers(t, operation('get', '/api/v1/shop/orders/{orderId}'), {
    operationId: 'getShopOrdersByOrderId',
    security: [{ bearer: [] }],
    parameters: [
      { name: 'orderId', in: 'path', required: true, description: 'Own order', schema: { type: 'integer' } },
    ],
  })
  const create = operation('post', '/api/v1/admin/shop/orders')
  assertMembers(t, create, { tags: ['orders'], 'x-permission': 'shop:order:create', 'x-plugin': 'shop' })
  const schemas = document.components.schemas as Record<string, Record<string, unknown>>
  const resolved = (schema: unknown) => schemas[String(Object(schema).$ref).split('/').at(-1) ?? '']
  const body = resolved(create.requestBody?.content['application/json']?.schema)
  assertMembers(t, body, {
    required: ['lines', 'pair'],
    properties: { pair: { prefixItems: [{ type: 'string' }, { type: 'integer' }], items: false } },
  })
  const old = operation('delete', '/api/v1/shop/old')
  t.match(old, {
    deprecated: true,
    description:
      'Removes.\n\nDeprecated since 1.2.0; use DELETE /api/v2/shop/orders/{orderId}.\n\nName the order in the path.',
    'x-deprecated': { since: '1.2.0', replacement: 'DELETE /api/v2/shop/orders/{orderId}' },
    requestBody: { required: false },
  })
  t.match(operation('get', '/api/v1/shop/orders/export').responses['200'], { content: { 'text/csv': {} } })
  const [success, failure] =
    (
      operation('get', '/api/v1/shop/orders').responses['200'] as {
        content: Record<string, { schema: { anyOf: object[] } }>
      }
    ).content['application/json']?.schema.anyOf ?? []
  assertMembers(t, success, { required: ['code', 'message', 'data'], properties: { code: { const: '200' } } })
  assertMembers(t, resolved(failure), { properties: { code: { enum: ['400', '500'] } } })
  t.match(document.components.schemas.Node2, {
    properties: { children: { items: { $ref: '#/components/schemas/Node2' } } },
  })
})

t.test('C-011 schema trees of two plugins may have the same name', async (t) => {
  const { call, send } = await startHttp(t, addCatalogue)
  for (const owner of ['shop', 'menu']) {
    const name = `${owner}Name`
    const tree = { [name]: 'a', children: [{ [name]: 'b', children: [] }] }
    t.same((await call(`/api/v1/${owner}/tree`)).body.data, tree)
    t.same((await send('PUT', `/api/v1/${owner}/tree`, tree)).body.data, tree)
    const sent = { ...tree, extra: 1, children: [{ [name]: 'b', children: [], extra: 1 }] }
    assertMembers(t, (await send('PUT', `/api/v1/${owner}/tree`, sent)).body, {
      code: '400',
      data: { errors: [{ field: 'extra' }, { field: 'children[0].extra' }] },
    })
    const wrong = { [name]: 'a', children: [{ children: [] }] }
    assertMembers(t, (await send('PUT', `/api/v1/${owner}/tree`, wrong)).body, {
      code: '400',
      data: { errors: [{ field: `children[0].${name}` }] },
    })
  }
})

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
  readonly requestBody?: { readonly content: Record<string, { readonly schema: object }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema?: object }> }>
}

t.test('C-033 an added member appears in the description and in the types of the pages', async (t) => {
  const described = async (more: Record<string, TSchema>) => {
    const response = Type.Object({ who: Type.String(), ...more })
    const { server } = await startHttp(t, (http) => http.route(route('/api/v1/shop/orders', { response })))
    const document = await server.openapi()
    return { description: JSON.stringify(document), types: operationTypes(document, () => true) }
  }
  const before = await described({})
  t.same(await described({}), before, 'equal routes have equal descriptions')
  t.notMatch(before.description, /"note"/)
  const after = await described({ note: Type.Optional(Type.String()) })
  t.match(after.description, /"note":\{/)
  t.match(after.types, 'data: { who: string; note?: string }')
  t.equal(after.types.replace('; note?: string', ''), before.types, 'nothing else changed')
})

t.test('D6 the response check turns a missing member into a failure', async (t) => {
  const Shape = Type.Object({
    id: Type.Integer(),
    inner: Type.Object({ name: Type.String() }),
    list: Type.Array(Type.Object({ n: Type.Integer() })),
  })
  const add = (http: HttpServer) => {
    const answer = (name: string, value: unknown) =>
      http.route(route(`/api/v1/shop/${name}`, { response: Shape, handler: async () => value }))
    answer('exact', { id: 1, inner: { name: 'x' }, list: [{ n: 1 }], skipped: undefined })
    answer('top', { id: 1, inner: { name: 'x' }, list: [], jumpTarget: '/orders' })
    answer('deep', { id: 1, inner: { name: 'x', jumpId: 7 }, list: [{ n: 1 }, { n: 2, extra: true }] })
    answer('changed', { id: '1', inner: { name: 5 }, list: [] })
  }
  const checked = await startHttp(t, add, { set: { 'platform.http.response-check': 'true' } })
  t.equal((await checked.call('/api/v1/shop/exact')).body.code, '200')
  const lost = async (name: string) => (await checked.call(`/api/v1/shop/${name}`)).body
  assertMembers(t, await lost('top'), {
    code: '500',
    data: { reason: 'http.response-undeclared', members: ['data.jumpTarget'] },
  })
  t.same((await lost('deep')).data.members, ['data.inner.jumpId', 'data.list[1].extra'])
  t.same((await lost('changed')).data.members, ['data.id', 'data.inner.name'])
  const unchecked = await startHttp(t, add)
  t.same((await unchecked.call('/api/v1/shop/top')).body.data, { id: 1, inner: { name: 'x' }, list: [] })
})

t.test('both catalogues have the same keys and placeholders', async (t) => {
  const flat = (tree: MessageTree, path = ''): [string, string][] =>
    Object.entries(tree).flatMap(([name, value]) =>
      typeof value === 'string'
        ? [[`${path}${name}`, [...value.matchAll(/\{\{\w+\}\}/g)].map(String).sort().join()] as [string, string]]
        : flat(value, `${path}${name}.`),
    )
  t.same(flat(messages['zh-CN']), flat(messages.en))
})

t.test('commands list routes and print the description', async (t) => {
  const { running } = await startHttp(t, addCatalogue, {
    roles: ['cli'],
    plugins: [
      definePlugin({
        id: 'other',
        version: '1.0.0',
        kernel: '^1.0.0',
        requires: { http },
        setup({ services }) {
          const pass = () => {}
          const ofShop = ({ plugin }: { readonly plugin: string }) => (plugin === 'shop' ? pass : undefined)
          services.http.guard({ name: 'other.quota', stage: 'quota', forRoute: ofShop })
          services.http.guard({ name: 'other.gate', stage: 'gate', forRoute: ofShop })
          services.http.guard({ name: 'other.elsewhere', stage: 'gate', forRoute: () => undefined })
          services.http.wrap({ name: 'other.wrapper', forRoute: () => (_request, _reply, handle) => handle() })
        },
      }),
    ],
  })
  const plugin = running.plugins.find(({ id }) => id === 'http')
  const run = async (name: string, options: Record<string, boolean> = {}, args: readonly string[] = []) => {
    let answer: { value: unknown; text: string } | undefined
    const output = {
      json: true,
      progress: () => {},
      result: (value: unknown, text: string) => {
        answer = { value, text }
      },
      table: (value: unknown, rows: readonly (readonly string[])[]) => {
        answer = { value, text: rows.map((row) => row.join('  ')).join('\n') }
      },
    }
    const command = plugin?.commands?.find((candidate) => candidate.name === name)
    const code = await command?.run(running.runtimeOf('http') as never, {
      args,
      options,
      output,
      examine: async () => [],
      signal: AbortSignal.timeout(60_000),
    })
    return { code, ...answer }
  }
  const routes = await run('routes')
  t.match(routes.text, /^DELETE +\/api\/v1\/shop\/old +public +shop +A route$/m)
  t.match(routes.text, /^POST +\/api\/v1\/admin\/shop\/orders +shop:order:create +shop/m)
  t.notMatch(routes.text, /health/)
  t.match((await run('routes', { all: true })).text, /GET +\/health\/live/)
  const { value, text } = await run('routes', {}, ['post', '/api/v1/admin/shop/orders'])
  t.match(value, { method: 'POST', plugin: 'shop', access: { permission: 'shop:order:create', scope: 'none' } })
  t.match(text, /gate +other\.gate\n +quota +other\.quota\n +wrapper +other\.wrapper\n +handler +shop$/)
  await rejectsWith(t, run('routes', {}, ['PUT', '/nowhere']), { code: 'PLINTH_HTTP_ROUTE_UNKNOWN' })
  t.match((await run('openapi')).value, { openapi: '3.1.1', paths: { '/api/v1/shop/old': {} } })
})
