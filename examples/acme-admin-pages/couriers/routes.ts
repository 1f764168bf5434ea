import { type Database, findPage } from '@plinth/database'
import { id, idParams, line, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { businessError, Courier } from './courier.ts'

export const editCouriers = 'acme:courier:edit'

const path = '/api/v1/admin/acme/couriers'
const access = { permission: editCouriers, scope: 'none' } as const
const name = line(80, { minLength: 1 })
const facts = { name, badgeName: name, city: name, depotId: id, dailyPay: Type.Integer({ minimum: 0 }) }
const courier = Type.Object({ id, ...facts })

const { route } = routesWith<{ readonly db: Database }>()

export const routes = [
  route({
    method: 'GET',
    path,
    summary: 'Couriers, the newest first',
    access,
    request: { query: Type.Object({ ...listQuery.properties, depotId: Type.Optional(id) }) },
    response: listPage(courier),
    reasons: [],
    handler: ({ query }, { db }) =>
      listResponse(query, newestFirst, (window) =>
        findPage(db.fork(), Courier, query.depotId === undefined ? {} : { depotId: query.depotId }, window),
      ),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add a courier',
    access,
    request: { body: Type.Object(facts) },
    response: Type.Object({ id }),
    reasons: [],
    handler: async ({ body }, { db }) => ({ id: await db.fork().insert(Courier, { id: db.newId(), ...body }) }),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One courier',
    access,
    request: { params: idParams },
    response: courier,
    reasons: ['acme-couriers.courier-unknown'],
    async handler({ params }, { db }) {
      const found = await db.fork().findOne(Courier, params)
      if (found === null) throw businessError('courier-unknown', { params })
      return found
    },
  }),
]
