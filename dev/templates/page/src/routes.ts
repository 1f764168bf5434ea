import { type Database, findPage } from '@plinth/database'
import { id, idParams, line, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { Entry, entryUnknown, states } from './entry.ts'

export const viewEntries = 'sample-name:entry:view'
export const editEntries = 'sample-name:entry:edit'

const path = '/api/v1/admin/sample-name'
const viewing = { permission: viewEntries, scope: 'none' } as const
const editing = { permission: editEntries, scope: 'none' } as const
const facts = { name: line(80, { minLength: 1 }), note: line(80, { minLength: 1 }) }
const state = Type.Enum(states)
const entry = Type.Object({ id, ...facts, state })

const { route } = routesWith<{ readonly db: Database }>()

export const routes = [
  route({
    method: 'GET',
    path,
    summary: 'List entries, newest first',
    access: viewing,
    request: { query: listQuery },
    response: listPage(entry),
    handler: ({ query }, { db }) =>
      listResponse(query, newestFirst, (window) => findPage(db.fork(), Entry, {}, window)),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add an entry',
    access: editing,
    request: { body: Type.Object(facts) },
    response: Type.Object({ id }),
    handler: async ({ body }, { db }) => ({
      id: await db.fork().insert(Entry, { id: db.newId(), ...body, state: 'open' }),
    }),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One entry',
    access: viewing,
    request: { params: idParams },
    response: entry,
    handler: async ({ params: { id } }, { db }) => (await db.fork().findOne(Entry, { id })) ?? entryUnknown(id),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/state`,
    summary: 'Open or close an entry',
    access: editing,
    request: { params: idParams, body: Type.Object({ state }) },
    response: Type.Object({ id }),
    async handler({ params: { id }, body }, { db }) {
      const changed = await db.fork().nativeUpdate(Entry, { id }, { state: body.state })
      return changed === 1 ? { id } : entryUnknown(id)
    },
  }),
]
