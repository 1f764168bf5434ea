import { defineEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { defineBusinessErrors } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import en from './messages/en.json' with { type: 'json' }

export const states = ['open', 'closed'] as const

export const Entry = defineEntity({
  name: 'SampleName',
  tableName: 'sample_name',
  properties: {
    id: column.primaryKey(),
    name: column.text(80),
    note: column.text(80),
    state: column.text(8).$type<(typeof states)[number]>(),
  },
})

export const createTable = defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type }) => [
    schema
      .createTable('sample_name')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('name', type.text(80), (c) => c.notNull())
      .addColumn('note', type.text(80), (c) => c.notNull())
      .addColumn('state', type.text(8), (c) => c.notNull()),
  ],
})

export const businessError = defineBusinessErrors('sample-name', en['sample-name'], { 'entry-unknown': '404' })

/**
 * Throws the error for an id that does not exist.
 *
 * @throws BusinessError "404" `sample-name.entry-unknown`
 */
export function entryUnknown(id: number): never {
  throw businessError('entry-unknown', { params: { id } })
}
