import { defineEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { defineBusinessErrors } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import en from './messages/en.json' with { type: 'json' }

export const states = ['open', 'closed'] as const

export const Depot = defineEntity({
  name: 'AcmeDepot',
  tableName: 'acme_depot',
  properties: {
    id: column.primaryKey(),
    name: column.text(80),
    city: column.text(80),
    state: column.text(8).$type<(typeof states)[number]>(),
  },
})

export const createDepot = defineChangeSet({
  id: '0001-create-depot',
  up: ({ schema, type }) => [
    schema
      .createTable('acme_depot')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(80), (c) => c.notNull())
      .addColumn('city', type.text(80), (c) => c.notNull())
      .addColumn('state', type.text(8), (c) => c.notNull()),
  ],
})

export const businessError = defineBusinessErrors('acme', en.acme, { 'depot-unknown': '404' })

/** @throws BusinessError "404" `acme.depot-unknown`, on every call */
export function depotUnknown(id: number): never {
  throw businessError('depot-unknown', { params: { id } })
}
