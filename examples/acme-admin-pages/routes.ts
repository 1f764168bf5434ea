import { type Database, findPage } from '@plinth/database'
import { id, idParams, line, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import { Depot, depotUnknown, states } from './depot.ts'

export const editDepots = 'acme:depot:edit'

const path = '/api/v1/admin/acme/depots'
const access = { permission: editDepots, scope: 'none' } as const
const facts = { name: line(80, { minLength: 1 }), city: line(80, { minLength: 1 }) }
const state = Type.Enum(states)
const depot = Type.Object({ id, ...facts, state })

const { route } = routesWith<{ readonly db: Database }>()

export const routes = [
  route({
    method: 'GET',
    path,
    summary: 'Depots, the newest first',
    access,
    request: {
      query: Type.Object({ ...listQuery.properties, city: Type.Optional(facts.city), state: Type.Optional(state) }),
    },
    response: listPage(depot),
    reasons: [],
    handler: ({ query }, { db }) =>
      listResponse(query, newestFirst, (window) =>
        findPage(db.fork(), Depot, omitUndefined({ city: query.city, state: query.state }), window),
      ),
  }),
  route({
    method: 'GET',
    path: `${path}/cities`,
    summary: 'Cities with a depot',
    access,
    response: Type.Array(Type.Object({ city: facts.city })),
    reasons: [],
    async handler(_, { db }) {
      const depots = await db.fork().findAll(Depot, { fields: ['city'] })
      return [...new Set(depots.map(({ city }) => city))].sort().map((city) => ({ city }))
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add a depot',
    access,
    request: { body: Type.Object(facts) },
    response: Type.Object({ id }),
    reasons: [],
    handler: async ({ body }, { db }) => ({
      id: await db.fork().insert(Depot, { id: db.newId(), ...body, state: 'open' }),
    }),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One depot',
    access,
    request: { params: idParams },
    response: depot,
    reasons: ['acme.depot-unknown'],
    handler: async ({ params: { id } }, { db }) => (await db.fork().findOne(Depot, { id })) ?? depotUnknown(id),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/state`,
    summary: 'Open or close a depot',
    access,
    request: { params: idParams, body: Type.Object({ state }) },
    response: Type.Object({ id }),
    reasons: ['acme.depot-unknown'],
    async handler({ params: { id }, body }, { db }) {
      const changed = await db.fork().nativeUpdate(Depot, { id }, { state: body.state })
      return changed === 1 ? { id } : depotUnknown(id)
    },
  }),
]
