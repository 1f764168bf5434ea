import { defineChangeSet } from '@plinth/migrations'

/** Table with the highest trusted time of an SQLite database, in one row; see `file-clock.ts`. */
export const createClock = defineChangeSet({
  id: '0002-create-clock',
  up: ({ schema, type }) => [
    schema
      .createTable('database_clock')
      .addColumn('id', type.integer, (c) => c.primaryKey())
      .addColumn('decided_at', type.bigint, (c) => c.notNull())
      .addColumn('confirmations', type.integer, (c) => c.notNull()),
  ],
})
