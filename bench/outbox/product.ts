/** The product whose events are delivered: a publisher without a dispatcher, and workers. */
import databasePlugin, { type Database, database } from '@plinth/database'
import eventsPlugin, { event, events } from '@plinth/events'
import { definePlugin, defineProduct, type JsonValue } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import sharedStore from '@plinth/shared-store'
import { Type } from 'typebox'

const payload = Type.Object({ n: Type.Integer() })
/** Handled by a function that does nothing. */
export const nothing = event('bench.nothing', payload)
/** Handled by a function that writes a row in the transaction of its delivery. */
export const row = event('bench.row', payload)

const createTables = defineChangeSet({
  id: '0001-create-tables',
  up: ({ schema, type }) => [
    schema
      .createTable('bench_effect')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('n', type.bigint, (c) => c.notNull()),
  ],
})

/**
 * Returns the product. All processes have the same handlers, so that a publisher knows the lanes of its events.
 *
 * @param handled called at the start of each handler of `nothing`
 */
export const outboxProduct = (config: Readonly<Record<string, JsonValue>>, handled: () => void = () => {}) =>
  defineProduct({
    name: 'outbox',
    plugins: [
      databasePlugin,
      sharedStore,
      eventsPlugin,
      definePlugin({
        id: 'bench',
        version: '1.0.0',
        kernel: '^1.0.0',
        requires: { events, database },
        migrations: [createTables],
        setup({ services: { events, database: db } }) {
          events.on(nothing, 'bench.nothing', handled)
          events.on(row, 'bench.row', ({ payload: { n } }) => writeRow(db, n), { transaction: true })
        },
      }),
    ],
    config,
  })

const writeRow = (db: Database, n: number) =>
  db.execute('insert into bench_effect (id, n) values (?, ?)', [db.newId(), n])
