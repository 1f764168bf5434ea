import type { InferEntity } from '@mikro-orm/core'
import { type Database, findPage } from '@plinth/database'
import { id, idParams, line, listPage, listQuery, listResponse, newestFirst, routesWith, Type } from '@plinth/http'
import { businessError, Courier } from './courier.ts'
import { type CourierFiles, fileFields, fileViews } from './courier-files.ts'

export const editCouriers = 'acme:courier:edit'

const path = '/api/v1/admin/acme/couriers'
const access = { permission: editCouriers, scope: 'none' } as const
const name = line(80, { minLength: 1 })
const facts = { name, badgeName: name, city: name, depotId: id, dailyPay: Type.Integer({ minimum: 0 }) }
const courier = Type.Object({ id, ...facts, ...fileViews })
const noFiles = { photo: null, contract: null }

interface RouteDependencies {
  readonly db: Database
  readonly files: CourierFiles
}

const { route } = routesWith<RouteDependencies>()

async function find({ db }: RouteDependencies, id: number) {
  const found = await db.fork().findOne(Courier, { id })
  if (found === null) throw businessError('courier-unknown', { params: { id } })
  return found
}

const viewOf = async ({ files }: RouteDependencies, row: InferEntity<typeof Courier>) => {
  const { id, name, badgeName, city, depotId, dailyPay } = row
  return { id, name, badgeName, city, depotId, dailyPay, ...(await files.view(row)) }
}

const fileReasons = ['storage.file-too-large', 'storage.upload-type', 'storage.upload-unknown']

export const routes = [
  route({
    method: 'GET',
    path,
    summary: 'Couriers, the newest first',
    access,
    request: { query: Type.Object({ ...listQuery.properties, depotId: Type.Optional(id) }) },
    response: listPage(courier),
    reasons: [],
    async handler({ query }, own) {
      const where = query.depotId === undefined ? {} : { depotId: query.depotId }
      const page = await listResponse(query, newestFirst, (window) => findPage(own.db.fork(), Courier, where, window))
      return { ...page, items: await Promise.all(page.items.map((row) => viewOf(own, row))) }
    },
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add a courier',
    access,
    request: { body: Type.Object({ ...facts, ...fileFields }) },
    response: Type.Object({ id }),
    reasons: fileReasons,
    async handler({ body }, { db, files }) {
      const taken = await files.take(body, noFiles)
      return { id: await db.fork().insert(Courier, { id: db.newId(), ...body, ...taken }) }
    },
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One courier',
    access,
    request: { params: idParams },
    response: courier,
    reasons: ['acme-couriers.courier-unknown'],
    handler: async ({ params: { id } }, own) => viewOf(own, await find(own, id)),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Change a courier',
    access,
    request: { params: idParams, body: Type.Object({ ...facts, ...fileFields }) },
    response: Type.Object({ id }),
    reasons: ['acme-couriers.courier-unknown', ...fileReasons],
    async handler({ params: { id }, body }, own) {
      const former = await find(own, id)
      const files = await own.files.take(body, former)
      await own.db.fork().nativeUpdate(Courier, { id }, { ...body, ...files })
      await own.files.deleteOthers(former, files)
      return { id }
    },
  }),
]
