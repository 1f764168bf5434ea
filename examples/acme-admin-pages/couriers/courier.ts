import { defineEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { defineBusinessErrors } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import en from './messages/en.json' with { type: 'json' }

export const Courier = defineEntity({
  name: 'AcmeCourier',
  tableName: 'acme_courier',
  properties: {
    id: column.primaryKey(),
    name: column.text(80),
    badgeName: column.text(80),
    city: column.text(80),
    depotId: column.id(),
    /** Pay of a day in cents. */
    dailyPay: column.integer(),
    /** Path of the picture on the public disk. */
    photo: column.text(400).nullable(),
    /** Path of the contract on the private disk. */
    contract: column.text(400).nullable(),
  },
})

export const createCourier = defineChangeSet({
  id: '0001-create-courier',
  up: ({ schema, type }) => [
    schema
      .createTable('acme_courier')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(80), (c) => c.notNull())
      .addColumn('badge_name', type.text(80), (c) => c.notNull())
      .addColumn('city', type.text(80), (c) => c.notNull())
      .addColumn('depot_id', type.id, (c) => c.notNull())
      .addColumn('daily_pay', type.integer, (c) => c.notNull())
      .addColumn('photo', type.text(400))
      .addColumn('contract', type.text(400)),
  ],
})

export const businessError = defineBusinessErrors('acme-couriers', en['acme-couriers'], { 'courier-unknown': '404' })
