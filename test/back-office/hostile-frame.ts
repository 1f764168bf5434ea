import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { adminPages, type PageDeclaration } from '@plinth/admin'
import { http, routesWith, Type } from '@plinth/http'
import { BusinessError, definePlugin } from '@plinth/kernel'

const text = (en: string) => ({ en, 'zh-CN': `${en} 中文` })

interface Seen {
  /** Requests that arrived outside of the API. */
  readonly arrived: string[]
  /** Requests to the operations of the plugin. */
  readonly calls: unknown[]
  /** Number of calls that run now, and the maximum so far. */
  readonly open: { now: number; most: number }
}

const path = '/api/v1/admin/hostile/things'
const params = Type.Object({ id: Type.Integer() })
const { route, rawRoute } = routesWith<Seen>()
const access = { permission: 'hostile:view', scope: 'none' } as const
const probe = { path: '/probe', access: 'public', hidden: true, produces: ['text/plain'] } as const

const routes = [
  route({
    method: 'GET',
    path,
    operationId: 'getHostileThings',
    summary: 'All things',
    access,
    response: Type.Array(Type.Object({ id: Type.Integer({ title: 'Thing' }) }), { title: 'Things' }),
    async handler(_, { calls, open }) {
      calls.push('list')
      open.now += 1
      open.most = Math.max(open.most, open.now)
      // Takes some time, so that calls can overlap.
      for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
      open.now -= 1
      return [{ id: 1 }]
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    operationId: 'getHostileThing',
    summary: 'One thing',
    access,
    request: { params },
    response: Type.Object({ id: Type.Integer({ title: 'Thing' }), shelf: Type.String({ title: 'Shelf' }) }),
    handler({ params: { id } }, { calls }) {
      calls.push({ read: id })
      return { id, shelf: 'A' }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    operationId: 'putHostileThing',
    summary: 'Change a thing',
    access,
    request: {
      params,
      body: Type.Object({
        name: Type.String({ title: 'Name', maxLength: 10 }),
        bookTitle: Type.Optional(Type.String()),
        printedBy: Type.Optional(Type.Object({ houseName: Type.String() })),
      }),
    },
    response: Type.Object({ id: Type.Integer({ title: 'Thing' }) }),
    handler({ params: { id }, body: { name } }, { calls }) {
      if (name === 'taken') throw new BusinessError('409', 'This name is taken.', { data: { field: 'name' } })
      calls.push({ changed: id, name })
      return { id }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/shelf`,
    operationId: 'putHostileThingShelf',
    summary: 'Move a thing',
    access,
    request: { params, body: Type.Object({ shelf: Type.String({ title: 'Shelf', maxLength: 10 }) }) },
    response: Type.Object({ id: Type.Integer({ title: 'Thing' }) }),
    handler({ params: { id }, body: { shelf } }, { calls }) {
      calls.push({ moved: id, shelf })
      return { id }
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    operationId: 'deleteHostileThing',
    summary: 'Delete a thing',
    access,
    request: { params },
    response: Type.Null(),
    handler({ params: { id } }, { calls }) {
      calls.push({ deleted: id })
      return null
    },
  }),
  ...(['GET', 'POST'] as const).map((method) =>
    rawRoute({
      ...probe,
      method,
      summary: 'Records a request',
      operationId: `${method.toLowerCase()}Probe`,
      handler(_, { arrived }, reply) {
        arrived.push(`${method} /probe`)
        return reply.type('text/plain').send('')
      },
    }),
  ),
]

interface Targets {
  readonly arrived: string[]
  /** Port of an HTTP server, and port of a UDP socket. */
  readonly http: number
  readonly udp: number
}

/** Returns a plugin whose page tries everything that a page in a frame must not do. */
export function hostileFrame({ arrived, http: httpPort, udp }: Targets) {
  const calls: unknown[] = []
  const open = { now: 0, most: 0 }
  const script = readFileSync(join(import.meta.dirname, 'hostile-frame.js'), 'utf8')
  const page: PageDeclaration = {
    kind: 'frame',
    id: 'hostile.frame',
    title: text('Harmless'),
    place: { group: 'product', order: 910 },
    source: 'getHostileThings',
    reads: ['getHostileThing'],
    writes: [
      { operation: 'putHostileThing', label: text('Rename'), confirm: text('The thing gets another name.') },
      {
        operation: 'putHostileThingShelf',
        label: text('Move'),
        columns: [
          { field: 'id', as: 'text' },
          { field: 'shelf', as: 'text' },
        ],
        undo: 'getHostileThing',
      },
    ],
    html: '<p id="result">Harmless</p><label>Field <input id="field"></label>',
    script: `const ports = { http: ${httpPort}, udp: ${udp} }\n${script}`,
  }
  const plugin = definePlugin({
    id: 'hostile',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    contributes: [adminPages],
    permissions: [{ code: 'hostile:view', displayName: text('View things') }],
    setup({ services, contribute }) {
      services.http.addRoutes(routes, { arrived, calls, open })
      contribute(adminPages, page.id, page)
    },
  })
  return { plugin, calls, open }
}
