import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pluginCommands } from '@plinth/dev/commands'
import { breakingChanges } from '@plinth/dev/openapi'
import { assertMembers, rejectsWith } from '@plinth/dev/testing'
import type { CommandOutput } from '@plinth/kernel'
import t, { type Test } from 'tap'
import type { TSchema } from 'typebox'
import { type HttpServer, type RequestSchemas, type RouteDeclaration, Type } from '../src/index.ts'
import { startHttp } from './start-http.ts'

interface Changes {
  readonly request?: RequestSchemas
  readonly response?: TSchema
  readonly access?: RouteDeclaration['access']
  readonly operationId?: string
}
const path = '/api/v1/shop/items/:id'

/** Returns a function that registers the test route with the given changes. */
const addItems =
  (changes: Changes = {}) =>
  (server: HttpServer) =>
    server.route({
      method: 'POST',
      path,
      summary: 'Change an item',
      access: changes.access ?? 'public',
      ...(changes.operationId === undefined ? {} : { operationId: changes.operationId }),
      request: {
        params: Type.Object({ id: Type.Integer() }),
        body: Type.Object({ name: Type.String({ maxLength: 20 }), size: Type.Optional(Type.Enum(['s', 'm'])) }),
        ...changes.request,
      },
      response: changes.response ?? item(),
      handler: ({ body }) => ({ ...(body as object), state: 'new', owner: null, tags: [] }) as never,
    })
const item = (changes: Record<string, TSchema> = {}) =>
  Type.Object({
    name: Type.String(),
    state: Type.Enum(['new', 'sold']),
    owner: Type.Union([Type.String(), Type.Null()]),
    tags: Type.Array(Type.Object({ label: Type.String() })),
    ...changes,
  })

async function documentOf(t: Test, changes?: Changes): Promise<object> {
  const { server } = await startHttp(t, addItems(changes), { roles: ['cli'] })
  return server.openapi()
}

t.test(
  'C-031 every change that breaks a caller of the earlier description is reported, and nothing else',
  async (t) => {
    const previous = await documentOf(t)
    const changed = async (changes: Changes) => breakingChanges(previous, await documentOf(t, changes))
    const place = 'POST /api/v1/shop/items/{id}'
    const bodyOf = (members: Record<string, TSchema>) => ({ request: { body: Type.Object(members) } })
    const name = Type.String({ maxLength: 20 })
    const size = Type.Optional(Type.Enum(['s', 'm']))
    const { name: _, ...others } = item().properties
    const withoutName = Type.Object(others)
    t.same(await changed({}), [])

    const compatible: Changes[] = [
      bodyOf({ name: Type.String({ maxLength: 40 }), size: Type.Optional(Type.Enum(['s', 'm', 'l'])) }),
      bodyOf({ name, size, colour: Type.Optional(Type.String()) }),
      bodyOf({ name: Type.Optional(Type.Union([name, Type.Null()])), size: Type.Optional(Type.String()) }),
      { response: item({ state: Type.Enum(['new', 'sold', 'reserved']), price: Type.Integer() }) },
      { response: item({ owner: Type.Null() }) },
      {
        request: { query: Type.Object({ count: Type.Optional(Type.Enum(['all', 'none'])) }) },
        response: item({ name: Type.Union([Type.String(), Type.Null()], { 'x-null-with': ['count'] }) }),
      },
    ]
    for (const changes of compatible) t.same(await changed(changes), [], JSON.stringify(changes))

    const breaking: [changes: Changes, expected: string[]][] = [
      [{ access: 'user' }, [`${place}: access changed to {"bearer":[]}`]],
      [bodyOf({ name }), [`${place}: body.size is gone`]],
      [bodyOf({ name, size, price: Type.Integer() }), [`${place}: body.price is now required`]],
      [bodyOf({ name: Type.String({ maxLength: 10 }), size }), [`${place}: body.name is stricter: maxLength 10`]],
      [bodyOf({ name: Type.Integer(), size }), [`${place}: body.name was string, is integer`]],
      [bodyOf({ name, size: Type.Optional(Type.Enum(['m'])) }), [`${place}: body.size knows s no more`]],
      [bodyOf({ name: Type.Enum(['a', 'b']), size }), [`${place}: body.name takes only a, b`]],
      [
        { request: { params: Type.Object({ id: Type.String({ format: 'uuid' }) }) } },
        [`${place}: path id was integer, is string`, `${place}: path id is stricter: format uuid`],
      ],
      [{ request: { query: Type.Object({ mode: Type.String() }) } }, [`${place}: query mode is now required`]],
      [
        { response: item({ name: Type.Union([Type.String(), Type.Null()], { 'x-null-with': ['count'] }) }) },
        [`${place}: answer.data.name was string, is string or null`],
      ],
      [{ response: withoutName }, [`${place}: answer.data.name is gone`]],
      [{ response: item({ name: Type.Optional(Type.String()) }) }, [`${place}: answer.data.name may be missing now`]],
      [
        { response: item({ name: Type.Union([Type.String(), Type.Null()]) }) },
        [`${place}: answer.data.name was string, is string or null`],
      ],
      [
        { response: item({ tags: Type.Array(Type.Object({ title: Type.String() })) }) },
        [`${place}: answer.data.tags[].label is gone`],
      ],
    ]
    for (const [changes, expected] of breaking) t.same(await changed(changes), expected)
    t.same(breakingChanges(previous, { paths: {} }), [`${place} is gone`])
    const optionalMode = { name, size, session: Type.Optional(Type.Enum(['a', 'b'])) }
    const nullable = item({ name: Type.Union([Type.String(), Type.Null()], { 'x-null-with': ['session'] }) })
    t.same(await changed({ ...bodyOf(optionalMode), response: nullable }), [], 'null comes only for who asks for it')
    t.same(await changed({ operationId: 'changeItem' }), [
      `${place}: operation id was postShopItemsById, is changeItem`,
    ])
    const proven = (security: object[]) => ({ paths: { '/api/v1/shop': { get: { security } } } })
    const [bearer, cookie] = [{ bearer: [] }, { cookie: [] }]
    t.same(breakingChanges(proven([bearer]), proven([bearer, cookie])), [], 'one more way to prove who calls')
    t.same(breakingChanges(proven([bearer, cookie]), proven([cookie])), [
      'GET /api/v1/shop: access changed to {"cookie":[]}',
    ])
    t.same(breakingChanges(proven([]), proven([cookie])), ['GET /api/v1/shop: access changed to {"cookie":[]}'])
    const guarded = (permission: string) => ({
      paths: { '/api/v1/admin/shop': { get: { 'x-permission': permission } } },
    })
    t.same(breakingChanges(guarded('shop:view'), guarded('shop:edit')), [
      'GET /api/v1/admin/shop: access changed to shop:edit',
    ])
  },
)

t.test('C-037 a deprecated operation stays for a minor version, and is only removed if its replacement exists', (t) => {
  const replacement = 'GET /api/v2/shop/items/{id}'
  const description = (version: string, ...operations: string[]) => ({
    info: { version },
    paths: Object.fromEntries(
      operations.map((operation) => {
        const [method = '', path = ''] = operation.split(' ')
        const isOld = path === '/api/v1/shop/items'
        const marked = isOld ? { deprecated: true, 'x-deprecated': { since: '1.4.2', replacement } } : {}
        return [path, { [method.toLowerCase()]: marked }]
      }),
    ),
  })
  const old = 'GET /api/v1/shop/items'
  const previous = description('1.4.2', old, replacement)
  t.same(breakingChanges(previous, description('1.4.9', old, replacement)), [])
  for (const version of ['1.4.2', '1.4.9', '1.3.0', '0.9.0', 'next']) {
    t.same(
      breakingChanges(previous, description(version, replacement)),
      [`${old} is gone within the minor cycle of its deprecation, 1.4.2`],
      version,
    )
  }
  for (const version of ['1.5.0', '1.10.0', '2.0.0']) {
    t.same(breakingChanges(previous, description(version, replacement)), [], version)
  }
  t.same(breakingChanges(previous, description('1.5.0')), [
    `${old} is gone, and ${replacement}, which replaces it, is not there`,
    `${replacement} is gone`,
  ])
  const other = description('1.5.0', 'POST /api/v2/shop/items/{id}')
  assertMembers(
    t,
    breakingChanges(previous, other),
    [/is gone, and GET/, `${replacement} is gone`],
    'the replacement has its method',
  )
  t.end()
})

t.test('C-031 a recursive description is compared completely', async (t) => {
  const tree = (leaf: object) => ({
    paths: { '/api/v1/shop/tree': { get: { responses: { 200: response({ $ref: '#/components/schemas/Node' }) } } } },
    components: {
      schemas: {
        Node: {
          type: 'object',
          required: ['children', 'leaf'],
          properties: { children: { type: 'array', items: { $ref: '#/components/schemas/Node' } }, leaf },
        },
      },
    },
  })
  const response = (schema: object) => ({ content: { 'application/json': { schema } } })
  t.same(breakingChanges(tree({ type: 'string' }), tree({ type: 'string' })), [])
  t.same(breakingChanges(tree({ type: 'string' }), tree({ type: 'integer' })), [
    'GET /api/v1/shop/tree: answer.leaf was string, is integer',
  ])
})

t.test(
  'C-031 plinth openapi --previous fails after a breaking change, and rejects a file that is no description',
  async (t) => {
    const directory = t.testdir({ 'broken.json': '{', 'other.json': '[]' })
    const { running, server } = await startHttp(t, addItems(), { roles: ['cli'] })
    const file = join(directory, 'previous.json')
    const compare = async (previous: string) => {
      let said: unknown
      const output: CommandOutput = {
        json: true,
        progress: () => {},
        table: () => {},
        result: (value) => (said = value),
      }
      const command = pluginCommands['http']?.find(({ name }) => name === 'openapi')
      const { signal } = new AbortController()
      const invocation = { args: [], options: { previous }, output, signal, examine: async () => [] }
      return { code: await command?.run(running.runtimeOf('http') as never, invocation), said }
    }
    writeFileSync(file, JSON.stringify(await server.openapi()))
    t.same(await compare(file), { code: 0, said: { breaking: [] } })
    writeFileSync(file, JSON.stringify({ paths: { '/api/v1/shop/gone': { get: {} } } }))
    t.same(await compare(file), { code: 1, said: { breaking: ['GET /api/v1/shop/gone is gone'] } })
    for (const name of ['broken.json', 'other.json', 'nowhere.json']) {
      await rejectsWith(t, compare(join(directory, name)), {
        code: 'PLINTH_HTTP_OPENAPI_UNREADABLE',
        message: new RegExp(name),
      })
    }
  },
)

t.test('C-032 a new optional field that is left out changes nothing', async (t) => {
  const before = await startHttp(t, addItems())
  const colour = Type.Optional(Type.String({ maxLength: 5 }))
  const note = Type.Optional(Type.String({ default: 'none' }))
  const body = Type.Object({
    name: Type.String({ maxLength: 20 }),
    size: Type.Optional(Type.Enum(['s', 'm'])),
    colour,
    note,
  })
  const after = await startHttp(
    t,
    addItems({ request: { body, query: Type.Object({ dryRun: Type.Optional(Type.Boolean()) }) } }),
  )
  for (const request of [
    { name: 'cup' },
    { name: 'cup', size: 's' },
    { name: 1 },
    {},
    { name: 'cup', unknown: true },
  ]) {
    const [old, fresh] = await Promise.all(
      [before, after].map(({ send }) => send('POST', '/api/v1/shop/items/7', request)),
    )
    t.same(fresh?.body, old?.body, JSON.stringify(request))
  }
})
