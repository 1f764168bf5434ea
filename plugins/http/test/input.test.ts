import { assertMembers } from '@plinth/dev/testing'
import i18nPlugin from '@plinth/i18n'
import { healthCheck } from '@plinth/kernel'
import fc from 'fast-check'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import {
  type HttpServer,
  ignoreMembers,
  type ListQueryWindow,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  page,
  pageQuery,
  type RequestSchemas,
  rangeQuery,
  sortQuery,
} from '../src/index.ts'
import { startHttp } from './start-http.ts'

/** Starts a server whose routes return the input of their handler. */
async function startEcho(
  t: Test,
  request: RequestSchemas,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' = 'POST',
) {
  const received: unknown[] = []
  const started = await startHttp(t, (http) => {
    http.route({
      method,
      path: request.params === undefined ? '/api/v1/shop/echo' : '/api/v1/shop/echo/:id',
      summary: 'Echo',
      access: 'public',
      request,
      response: Type.Object({}, { additionalProperties: true }),
      handler: ({ body, query, params }) => {
        received.push(body)
        return { body, query, params }
      },
    })
  })
  const post = (body: unknown) => started.send(method, '/api/v1/shop/echo', body)
  return { ...started, post, received }
}

const Order = Type.Object({
  name: Type.String({ minLength: 2, maxLength: 5 }),
  amount: Type.Integer({ minimum: 1, maximum: 100 }),
  enabled: Type.Optional(Type.Boolean()),
  email: Type.Optional(Type.String({ format: 'email' })),
  kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b')])),
  note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  hours: Type.Optional(Type.Union([Type.Object({ start: Type.Integer({ minimum: 1 }) }), Type.Null()])),
  ids: Type.Optional(Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 3, uniqueItems: true })),
  lines: Type.Optional(Type.Array(Type.Object({ sku: Type.String(), price: Type.Object({ value: Type.Integer() }) }))),
  code: Type.Optional(Type.String({ pattern: '^[A-Z]+$' })),
  step: Type.Optional(Type.Number({ multipleOf: 0.5, exclusiveMinimum: 0, exclusiveMaximum: 9 })),
})
const good = { name: 'Tea', amount: 3 }

t.test('K-002 C-020 invalid input names every field and the violated rule', async (t) => {
  const { post, received } = await startEcho(t, { body: Order })
  const cases: readonly (readonly [body: unknown, field: string, rule: string, message: string])[] = [
    [{ amount: 3 }, 'name', 'required', 'name is required'],
    [{ ...good, name: 'x' }, 'name', 'minLength', 'name must have at least 2 characters'],
    [{ ...good, name: 'xxxxxx' }, 'name', 'maxLength', 'name must have at most 5 characters'],
    [{ ...good, amount: 0 }, 'amount', 'minimum', 'amount must be at least 1'],
    [{ ...good, amount: 101 }, 'amount', 'maximum', 'amount must be at most 100'],
    [{ ...good, amount: 1.5 }, 'amount', 'type', 'amount must be of type integer'],
    [{ ...good, email: 'x' }, 'email', 'format', 'email is not a valid email'],
    [{ ...good, kind: 'c' }, 'kind', 'enum', 'kind must be one of "a", "b"'],
    [{ ...good, kind: 1 }, 'kind', 'enum', 'kind must be one of "a", "b"'],
    [{ ...good, note: 5 }, 'note', 'type', 'note must be of type string, null'],
    [{ ...good, hours: 5 }, 'hours', 'type', 'hours must be of type object, null'],
    [{ ...good, hours: {} }, 'hours.start', 'required', 'hours.start is required'],
    [{ ...good, hours: { start: 0 } }, 'hours.start', 'minimum', 'hours.start must be at least 1'],
    [{ ...good, hours: { start: 'x' } }, 'hours.start', 'type', 'hours.start must be of type integer'],
    [{ ...good, ids: [] }, 'ids', 'minItems', 'ids must have at least 1 items'],
    [{ ...good, ids: [1, 2, 3, 4] }, 'ids', 'maxItems', 'ids must have at most 3 items'],
    [{ ...good, ids: [1, 1] }, 'ids', 'uniqueItems', 'ids must not repeat an item'],
    [{ ...good, ids: [1, 0] }, 'ids[1]', 'minimum', 'ids[1] must be at least 1'],
    [
      { ...good, lines: [{ sku: 'x', price: {} }] },
      'lines[0].price.value',
      'required',
      'lines[0].price.value is required',
    ],
    [{ ...good, code: 'a' }, 'code', 'pattern', 'code does not match ^[A-Z]+$'],
    [{ ...good, step: 0.7 }, 'step', 'multipleOf', 'step must be a multiple of 0.5'],
    [{ ...good, step: 0 }, 'step', 'exclusiveMinimum', 'step must be greater than 0'],
    [{ ...good, step: 9 }, 'step', 'exclusiveMaximum', 'step must be less than 9'],
    [[], 'body', 'type', 'body must be of type object'],
    ['text', 'body', 'type', 'body must be of type object'],
  ]
  for (const [body, field, rule, message] of cases) {
    const response = await post(body)
    t.equal(response.status, 200)
    t.same(response.body, {
      code: '400',
      message: `Invalid input: ${message}.`,
      data: { reason: 'http.invalid-input', errors: [{ field, rule, message }] },
    })
  }
  const { body } = await post({ name: 'x', amount: 0, ids: ['1'] })
  t.same(body.data.errors.map(({ field }: { field: string }) => field).sort(), ['amount', 'ids[0]', 'name'])
  t.equal(received.length, 0, 'no handler ran')
})

t.test('every rule has a message in both languages', async (t) => {
  const { send } = await startHttp(
    t,
    (http) =>
      http.route({
        method: 'POST',
        path: '/api/v1/shop/x',
        summary: 'x',
        access: 'public',
        request: { body: Order },
        response: Type.Null(),
        handler: () => null,
      }),
    { plugins: [i18nPlugin] },
  )
  const bad = { name: '', amount: 0, email: '', kind: 1, note: 1, ids: [], code: 'a', step: 0.3, lines: [{}] }
  const { data } = (await send('POST', '/api/v1/shop/x', bad, { 'accept-language': 'zh' })).body
  t.ok(data.errors.length >= 9)
  for (const { field, message } of data.errors) {
    t.match(message, /[\u4e00-\u9fff]/)
    t.ok(message.startsWith(field))
    t.notMatch(message, /\{\{/)
  }
})

t.test('D6 bodies are used unchanged, parameters and queries are converted', async (t) => {
  const { post } = await startEcho(t, { body: Order })
  for (const wrong of [
    { amount: '3' },
    { enabled: 'false' },
    { enabled: 0 },
    { ids: ['1'] },
    { ids: 1 },
    { name: 5 },
    { amount: null },
  ]) {
    t.equal((await post({ ...good, ...wrong })).body.code, '400', JSON.stringify(wrong))
  }
  const { call } = await startEcho(
    t,
    {
      params: Type.Object({ id: Type.Integer({ minimum: 1 }) }),
      query: Type.Object({
        active: Type.Optional(Type.Boolean()),
        ids: Type.Optional(Type.Array(Type.Integer())),
        limit: Type.Integer({ default: 5 }),
      }),
    },
    'GET',
  )
  const { data } = (await call('/api/v1/shop/echo/7?active=false&ids=3')).body
  t.same(data, { params: { id: 7 }, query: { active: false, ids: [3], limit: 5 } })
  t.same((await call('/api/v1/shop/echo/7?ids=3&ids=4')).body.data.query.ids, [3, 4])
  for (const wrong of [
    '/x',
    '/1.5',
    '/0',
    '/7?active=maybe',
    '/7?limit=x',
    '/7?limit=1&limit=2',
    '/9007199254740993',
  ]) {
    t.equal((await call(`/api/v1/shop/echo${wrong}`)).body.code, '400', wrong)
  }
  t.same((await call('/api/v1/shop/echo/x')).body.data.errors, [
    { field: 'id', rule: 'type', message: 'id must be of type integer' },
  ])
})

t.test('C-011 undeclared members are rejected by name and never reach a handler', async (t) => {
  const Cat = Type.Object({ kind: Type.Literal('cat'), lives: Type.Integer() })
  const Dog = Type.Object({ kind: Type.Literal('dog'), tricks: Type.Array(Type.Object({ name: Type.String() })) })
  const schema = Type.Object({
    name: Type.String(),
    nested: Type.Optional(Type.Object({ city: Type.String() })),
    list: Type.Optional(Type.Array(Type.Object({ id: Type.Integer() }))),
    perhaps: Type.Optional(Type.Union([Type.Object({ a: Type.Integer() }), Type.Null()])),
    pet: Type.Optional(Type.Union([Cat, Dog])),
    both: Type.Optional(Type.Intersect([Type.Object({ a: Type.Integer() }), Type.Object({ b: Type.Integer() })])),
    free: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    open: Type.Optional(Type.Object({ a: Type.Integer() }, { additionalProperties: true })),
  })
  const { post, received } = await startEcho(t, { body: schema })
  const sound = {
    name: 'x',
    nested: { city: 'y' },
    list: [{ id: 1 }],
    perhaps: { a: 1 },
    pet: { kind: 'dog', tricks: [{ name: 'sit' }] },
    both: { a: 1, b: 2 },
    free: { any: { thing: 1 } },
    open: { a: 1, kept: true },
  }
  t.same((await post(sound)).body.data.body, sound)
  received.length = 0
  const wrong: readonly (readonly [change: object, fields: readonly string[]])[] = [
    [{ ownerId: 9, isAdmin: true }, ['isAdmin', 'ownerId']],
    [{ nested: { city: 'y', createdBy: 1 } }, ['nested.createdBy']],
    [{ nested: { city: 'y', isAdmin: true } }, ['nested.isAdmin']],
    [{ list: [{ id: 1 }, { id: 2, createdBy: 2 }] }, ['list[1].createdBy']],
    [{ perhaps: { a: 1, b: 1 } }, ['perhaps.b']],
    [{ pet: { ...sound.pet, lives: 9 } }, ['pet.lives']],
    [{ pet: { kind: 'dog', tricks: [{ name: 'sit', id: 1 }] } }, ['pet.tricks[0].id']],
    [{ both: { a: 1, b: 2, c: 3 } }, ['both.c']],
    [{ '': 1 }, ['body']],
    [{ ['x'.repeat(5_000)]: 1 }, ['x'.repeat(64)]],
  ]
  for (const [change, fields] of wrong) {
    const { status, body } = await post({ ...sound, ...change })
    t.hasStrict({ status, body }, { status: 200, body: { code: '400', data: { reason: 'http.invalid-input' } } })
    const errors = body.data.errors as { field: string; rule: string }[]
    t.same(errors.map(({ field }) => field).sort(), fields, fields.join())
    t.ok(errors.every(({ rule }) => rule === 'additionalProperties'))
  }
  t.same(received, [], 'no handler ran')
  const serverSet = { id: 9, createdAt: 'x', createdBy: 1, updatedAt: null, updatedBy: {} }
  t.same((await post({ ...sound, ...serverSet })).body.data.body, sound, 'members that the server sets are ignored')
  t.equal((await post({ name: 'x', pet: { kind: 'cat', tricks: [] } })).body.code, '400')

  const { post: postPlain } = await startEcho(t, { body: Type.Object({ name: Type.String() }) })
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (members) => {
      const hasOther = Object.keys(members).some((name) => name !== 'name')
      const { status, body } = await postPlain({ ...members, name: 'x' })
      return status === 400 || (hasOther ? body.code === '400' : body.data.body.name === 'x')
    }),
    { numRuns: 50 },
  )
})

t.test('an unknown name of a body or a query is reported with the nearest known name', async (t) => {
  const { post, call } = await startEcho(t, {
    query: Type.Object({ unreadOnly: Type.Optional(Type.Boolean()) }),
    body: Type.Object({ channel: Type.Object({ emailEnabled: Type.Optional(Type.Boolean()) }) }),
  })
  const body = { channel: { emailEnable: false } }
  t.equal(
    (await post(body)).body.message,
    'Invalid input: channel.emailEnable is unknown; the nearest known name is channel.emailEnabled.',
  )
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"channel":{}}' }
  const { data } = (await call('/api/v1/shop/echo?zzz=true&versions=2', init)).body
  t.same(
    data.errors.map(({ field, message }: { field: string; message: string }) => [field, message]),
    [
      ['zzz', 'zzz is unknown'],
      ['versions', 'versions is unknown'],
    ],
  )
})

t.test('a write rejects query parameters that it does not declare, and a read ignores and reports them', async (t) => {
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
  const open = { query: Type.Object({}, { additionalProperties: true }) }
  const { call } = await startHttp(
    t,
    (http) => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const) {
        const shared = { method, summary: 'x', access: 'public', response: Type.Object({}) } as const
        http.route({ ...shared, path: '/api/v1/shop/items', handler: () => ({}) })
        http.route({ ...shared, path: '/api/v1/shop/open', request: open, handler: () => ({}) })
      }
      const handler = () => 'x'
      const raw = {
        path: '/api/v1/shop/raw',
        summary: 'x',
        access: 'public',
        produces: ['text/plain'],
        handler,
      } as const
      http.rawRoute({ ...raw, method: 'GET' })
      http.rawRoute({ ...raw, method: 'POST' })
    },
    { logger },
  )
  const answers: Record<string, string> = {}
  for (const [method, path] of [
    ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].flatMap((one) => [[one, 'items'] as const, [one, 'open'] as const]),
    ['GET', 'raw'] as const,
    ['POST', 'raw'] as const,
  ]) {
    const { body } = await call(`/api/v1/shop/${path}?dryRun=true&version=2`, { method })
    answers[`${method} ${path}`] = body?.data.errors?.[0].field ?? body?.code ?? 'no envelope'
  }
  t.same(answers, {
    'GET items': '200',
    'GET open': '200',
    'POST items': 'dryRun',
    'POST open': '200',
    'PUT items': 'dryRun',
    'PUT open': '200',
    'PATCH items': 'dryRun',
    'PATCH open': '200',
    'DELETE items': 'dryRun',
    'DELETE open': '200',
    'GET raw': 'no envelope',
    'POST raw': 'dryRun',
  })
  t.same(
    lines.map((line) => JSON.parse(line)).flatMap(({ method, path, names }) => (names ? [[method, path, names]] : [])),
    [['GET', '/api/v1/shop/items', ['dryRun']]],
  )
})

t.test(
  'C-028 the query parameter "version" has no effect, and neither have members that a route declares as ignored',
  async (t) => {
    const { call } = await startEcho(t, { query: ignoreMembers(Type.Object({ n: Type.Integer() }), ['userId']) }, 'GET')
    t.same((await call('/api/v1/shop/echo?n=1&version=2&userId=7')).body.data.query, { n: 1 })
    t.equal((await call('/api/v1/shop/echo?n=1&user=7')).body.code, '400')
    const versioned = await startEcho(t, { query: Type.Object({ version: Type.Integer() }) }, 'GET')
    t.same(
      (await versioned.call('/api/v1/shop/echo?version=2')).body.data.query,
      { version: 2 },
      'unless it is declared',
    )
  },
)

t.test('K-015 integers beyond 2^53 - 1 are rejected, not rounded', async (t) => {
  const { call, post } = await startEcho(t, { body: Type.Object({ id: Type.Integer() }) })
  t.same((await post({ id: Number.MAX_SAFE_INTEGER })).body.data.body, { id: Number.MAX_SAFE_INTEGER })
  for (const id of ['9007199254740992', '9007199254740993', '-9007199254740993', '1e300']) {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"id":${id}}` }
    assertMembers(
      t,
      (await call('/api/v1/shop/echo', init)).body,
      { code: '400', data: { errors: [{ field: 'id' }] } },
      id,
    )
  }
})

t.test('K-001 D5 every method accepts an empty body with the JSON media type, and DELETE accepts a body', async (t) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const) {
    const bare = await startEcho(t, {}, method)
    for (const headers of [
      { 'content-type': 'application/json' },
      { 'content-type': 'application/json; charset=utf-8' },
      {},
    ]) {
      const { status, body } = await bare.call('/api/v1/shop/echo', {
        method,
        headers: headers as Record<string, string>,
      })
      t.hasStrict({ status, body }, { status: 200, body: { code: '200' } }, `${method} ${JSON.stringify(headers)}`)
    }
    const ids = await startEcho(t, { body: Type.Object({ ids: Type.Array(Type.Integer(), { minItems: 1 }) }) }, method)
    t.same((await ids.post({ ids: [1, 2] })).body.data.body, { ids: [1, 2] }, method)
    const empty = await ids.call('/api/v1/shop/echo', { method, headers: { 'content-type': 'application/json' } })
    assertMembers(
      t,
      empty.body,
      { code: '400', data: { errors: [{ field: 'ids', rule: 'required' }] } },
      'an absent body names what is missing',
    )
  }
  const optional = await startEcho(t, { body: Type.Object({ reason: Type.Optional(Type.String()) }) })
  t.same(
    (await optional.call('/api/v1/shop/echo', { method: 'POST' })).body.data.body,
    {},
    'a body of optional members may be left out',
  )
})

t.test('a huge invalid list causes only a short error report', async (t) => {
  const { call, post } = await startEcho(t, { body: Type.Array(Type.Integer()) })
  const few = await post(Array(20).fill('x'))
  t.equal(few.body.data.errors.length, 20)
  const before = process.threadCpuUsage()
  const full = await post(Array(16_000).fill('x'))
  const { user, system } = process.threadCpuUsage(before)
  t.equal(full.body.data.errors.length, 200, 'as many as anybody reads')
  t.ok(user + system < 1_000_000, `${(user + system) / 1_000} ms of CPU for 64 KiB of broken rules`)
  const many = await post(Array(100_000).fill('x'))
  t.equal(many.body.data.errors.length, 1)
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  }
  t.equal((await call('/api/v1/shop/echo', init)).body.code, '400', 'nor does a deep one')
})

t.test('C-035 C-015 C-016 C-017 the first page is 1, and sorting accepts only listed names', async (t) => {
  const sort = sortQuery({ createdAt: 'created_at', displayName: 'display_name', id: 'id' }, '-createdAt')
  const Item = Type.Object({ id: Type.Integer() })
  const parsed: unknown[] = []
  const { call } = await startHttp(t, (http) => {
    http.route({
      method: 'GET',
      path: '/api/v1/shop/items',
      summary: 'Items',
      access: 'public',
      request: {
        query: Type.Object({ ...pageQuery.properties, ...sort.properties, keyword: Type.Optional(Type.String()) }),
      },
      response: page(Item),
      handler: ({ query }) => {
        parsed.push(sort.parse(query.sort))
        return { items: [{ id: 1 }], page: query.page, size: query.size, total: 1 }
      },
    })
  })
  const list = async (query: string) => (await call(`/api/v1/shop/items${query}`)).body
  t.same((await list('')).data, { items: [{ id: 1 }], page: 1, size: 20, total: 1 })
  t.match((await list('?page=3&size=200')).data, { page: 3, size: 200 })
  for (const wrong of [
    '?page=0',
    '?page=-1',
    '?page=1.5',
    '?page=x',
    '?size=0',
    '?size=201',
    '?page=',
    '?page=9007199254740993',
  ]) {
    t.equal((await list(wrong)).code, '400', wrong)
  }

  const rule = (property: string, column: string, direction: string) => ({ property, column, direction })
  const accepted: readonly (readonly [string, readonly object[]])[] = [
    ['', [rule('createdAt', 'created_at', 'desc')]],
    ['?sort=createdAt', [rule('createdAt', 'created_at', 'asc')]],
    ['?sort=created_at', [rule('createdAt', 'created_at', 'asc')]],
    ['?sort=-createdAt', [rule('createdAt', 'created_at', 'desc')]],
    ['?sort=createdAt,desc', [rule('createdAt', 'created_at', 'desc')]],
    ['?sort=created_at,asc', [rule('createdAt', 'created_at', 'asc')]],
    ['?sort=-displayName&sort=id', [rule('displayName', 'display_name', 'desc'), rule('id', 'id', 'asc')]],
    ['?sort=id&sort=-id&sort=createdAt', [rule('id', 'id', 'asc'), rule('createdAt', 'created_at', 'asc')]],
  ]
  for (const [query, rules] of accepted) {
    parsed.length = 0
    t.equal((await list(query)).code, '200', query)
    t.same(parsed, [rules], query)
  }
  parsed.length = 0
  for (const wrong of [
    'password_hash',
    'id;drop table x',
    'id desc',
    '-id,desc',
    'ID',
    '',
    ',',
    '-',
    'id,',
    'id,down',
    '__proto__',
    'constructor',
  ]) {
    const response = await call(`/api/v1/shop/items?sort=${encodeURIComponent(wrong)}`)
    assertMembers(t, response, { status: 200, body: { code: '400', data: { errors: [{ rule: 'pattern' }] } } }, wrong)
  }
  t.equal(parsed.length, 0)
  fc.assert(
    fc.property(fc.array(fc.string()), (texts) =>
      sort.parse(texts).every(({ column }) => ['created_at', 'display_name', 'id'].includes(column)),
    ),
  )
  t.throws(() => sortQuery({ id: 'id' }, 'nothing' as never), RangeError)
})

t.test('a schema that cannot be compiled makes only its route fail; doctor and tests find it first', async (t) => {
  const misspelt = Type.Object({ a: Type.Unsafe({ type: 'string', minLenght: 3 }) })
  const noFormat = Type.Object({ a: Type.String({ format: 'no-such-format' }) })
  const addRoutes = (server: HttpServer) => {
    const post = { method: 'POST', access: 'public', summary: 'x', response: Type.Null() } as const
    const handler = () => null
    server.route({ ...post, path: '/api/v1/shop/misspelt', request: { body: misspelt }, handler })
    server.route({ ...post, path: '/api/v1/shop/unknown-format', request: { body: noFormat }, handler })
    const broken = Type.Unsafe<null>({ type: 'nothing' })
    server.route({ ...post, path: '/api/v1/shop/broken-answer', response: broken, handler })
    server.route({ ...post, path: '/api/v1/shop/sound', request: { body: Type.Object({}) }, handler })
  }
  const { send } = await startHttp(t, addRoutes)
  for (const name of ['misspelt', 'unknown-format', 'broken-answer']) {
    const response = await send('POST', `/api/v1/shop/${name}`, { a: 'abc' })
    t.hasStrict(response, { status: 200, body: { code: '500', data: null } }, name)
    t.notMatch(response.text, /minLenght|format|nothing/)
  }
  t.hasStrict(await send('POST', '/api/v1/shop/sound', {}), { body: { code: '200' } })

  const everyProblem = (error: Error) =>
    ['misspelt', 'unknown-format', 'broken-answer'].every((name) => error.message.includes(`/api/v1/shop/${name}: `)) &&
    error.message.includes('request (body) of POST /api/v1/shop/misspelt: strict mode: unknown keyword: "minLenght"') &&
    error.message.includes('answer 200 of POST /api/v1/shop/broken-answer: ') &&
    !error.message.includes('/sound')
  const start = startHttp(t, addRoutes, { set: { 'platform.http.response-check': 'true' } })
  const rejection = await start.then(
    () => new Error('started'),
    (error: Error) => error,
  )
  t.ok(everyProblem(rejection), rejection.message)
  const { running } = await startHttp(t, addRoutes, { roles: ['cli'] })
  const check = running.contributions(healthCheck).get('http.schemas')
  const problem = await Promise.resolve(check?.(new AbortController().signal)).then(
    () => new Error('sound'),
    (error: Error) => error,
  )
  t.ok(everyProblem(problem), problem.message)
})

t.test('a list is read by its cursor, and reports how it counted', async (t) => {
  const sort = sortQuery({ id: 'id', name: 'name' }, 'id')
  const all = Array.from({ length: 45 }, (_, index) => index + 1)
  const windows: ListQueryWindow[] = []
  const find = async (window: ListQueryWindow) => {
    windows.push(window)
    const { size, offset, after, count } = window
    if (after?.[0] === 'foreign') throw Object.assign(new Error('no'), { code: 'PLINTH_DATABASE_POSITION' })
    if (after?.[0] === 'broken') throw new Error('broken')
    const rest = all.filter((id) => id > Number(after?.[0] ?? 0)).slice(offset)
    const items = rest.slice(0, size).map((id) => ({ id }))
    const total = { exact: 45, capped: 40, none: null }[count]
    return {
      items,
      total,
      isCapped: count === 'capped',
      next: rest.length > size ? [items.at(-1)?.id as number] : null,
    }
  }
  const { call, server } = await startHttp(t, (http) => {
    http.route({
      method: 'GET',
      path: '/api/v1/shop/items',
      summary: 'Items',
      access: 'public',
      request: { query: Type.Object({ ...listQuery.properties, ...sort.properties }) },
      response: listPage(Type.Object({ id: Type.Integer() })),
      handler: ({ query }) => listResponse(query, sort.parse(query.sort), find),
    })
    http.route({
      method: 'GET',
      path: '/api/v1/shop/positions',
      summary: 'Positions',
      access: 'public',
      request: { query: Type.Object({ name: Type.String() }) },
      response: listPage(Type.Object({ id: Type.Integer() })),
      handler: ({ query: { name } }) =>
        listResponse({ page: 1, size: 1 }, sort.parse([]), async () => ({
          items: [],
          total: null,
          isCapped: false,
          next: [name],
        })),
    })
  })
  const list = async (query: string, path = 'items') => (await call(`/api/v1/shop/${path}?${query}`)).body
  const first = (await list('size=20')).data
  t.match(first, { page: 1, size: 20, total: 45, counted: 'exact' })
  const ids: number[] = []
  let walked = 0
  for (let cursor: string | null = first.next; cursor !== null && walked < 20; walked++) {
    t.match(cursor, /^[\w-]+$/, 'needs no escape in a URL')
    const { data } = await list(`size=20&cursor=${cursor}`)
    ids.push(...data.items.map(({ id }: { id: number }) => id))
    t.match(data, { total: null, counted: 'none', page: 1 })
    cursor = data.next
  }
  t.same([walked, ids], [2, all.slice(20)])
  t.match((await list('count=capped')).data, { total: 40, counted: 'capped' })
  t.match((await list('count=none')).data, { total: null, counted: 'none' })
  t.match((await list(`count=exact&cursor=${first.next}`)).data, { total: 45, counted: 'exact' })
  assertMembers(t, (await list('size=200&page=500')).data, { items: [] }, 'the last page that is not too deep')

  const past = async (name: string) => (await list(`name=${name}`, 'positions')).data.next
  windows.length = 0
  const wrong: readonly (readonly [query: string, field: string, rule: string])[] = [
    ['size=200&page=501', 'page', 'depth'],
    ['page=9007199254740991', 'page', 'depth'],
    [`page=2&cursor=${first.next}`, 'page', 'cursorAlone'],
    [`sort=-id&cursor=${first.next}`, 'cursor', 'cursor'],
    [`cursor=${first.next.slice(0, -2)}`, 'cursor', 'cursor'],
    [`cursor=${Buffer.from('["0123456789",5]').toString('base64url')}`, 'cursor', 'cursor'],
    [`cursor=${Buffer.from('{}').toString('base64url')}`, 'cursor', 'cursor'],
    ['cursor=', 'cursor', 'cursor'],
    ['cursor=null', 'cursor', 'cursor'],
    ['cursor=%00', 'cursor', 'cursor'],
    [`cursor=${'x'.repeat(4_097)}`, 'cursor', 'maxLength'],
    ['count=most', 'count', 'enum'],
  ]
  for (const [query, field, rule] of wrong) {
    const { code, data, message } = await list(query)
    assertMembers(
      t,
      { code, data },
      { code: '400', data: { reason: 'http.invalid-input', errors: [{ field, rule }] } },
      query,
    )
    t.notMatch(message, /breaks the rule|\{\{/, 'in words')
  }
  t.same(windows, [], 'none of them reached the source')
  assertMembers(t, (await list(`cursor=${await past('foreign')}`)).data, {
    errors: [{ field: 'cursor', rule: 'cursor' }],
  })
  t.equal((await list(`cursor=${await past('broken')}`)).code, '500', 'a fault of the source stays its own')

  t.match(JSON.stringify(await server.openapi()), '"x-null-with":["cursor","count"]')
})

t.test('a list validates the parameters of its time range', async (t) => {
  const range = rangeQuery('createdAt', 'id')
  const ranges: unknown[] = []
  const { call, server } = await startHttp(t, (http) => {
    http.route({
      method: 'GET',
      path: '/api/v1/shop/visits',
      summary: 'Visits',
      access: 'public',
      request: { query: Type.Object({ ...listQuery.properties, ...range.properties }) },
      response: listPage(Type.Object({ id: Type.Integer() })),
      handler: ({ query }) =>
        listResponse(
          query,
          newestFirst,
          async (window) => {
            ranges.push(window.range)
            return { items: [], total: 0, isCapped: false, next: null }
          },
          range,
        ),
    })
  })
  const list = async (query: string) => (await call(`/api/v1/shop/visits?${query}`)).body
  const [from, to] = ['2026-03-01T00:00:00%2B08:00', '2026-03-02T00:00:00Z']
  for (const query of ['', `from=${from}`, `to=${to}`, `from=${from}&to=${to}`, 'from=0001-01-01T00:00:00Z'])
    t.hasStrict(await list(query), { code: '200' }, query)
  const [start, end] = [Date.UTC(2026, 1, 28, 16), Date.UTC(2026, 2, 2)]
  const column = { property: 'createdAt', id: 'id' }
  t.strictSame(ranges, [
    undefined,
    { ...column, from: start },
    { ...column, to: end },
    { ...column, from: start, to: end },
    { ...column, from: 0 },
  ])
  for (const [query, field, rule] of [
    ['from=yesterday', 'from', 'format'],
    ['to=2026-02-30', 'to', 'format'],
    [`from=${to}&to=${from}`, 'to', 'afterFrom'],
  ] as const)
    assertMembers(t, await list(query), { code: '400', data: { errors: [{ field, rule }] } }, query)
  t.equal(ranges.length, 5, 'none of them reached the source')
  const { parameters = [] } = (await server.openapi()).paths['/api/v1/shop/visits']?.['get'] ?? {}
  t.match(
    parameters.find(({ name }) => name === 'from'),
    { schema: { format: 'date-time', 'x-range': 'createdAt' }, required: false },
  )
})
