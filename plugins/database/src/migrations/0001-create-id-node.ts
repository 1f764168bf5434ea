import { defineChangeSet } from '@plinth/migrations'

/** Table of the numbers that identify processes in ids; see `id-source.ts`. */
export const createIdNode = defineChangeSet({
  id: '0001-create-id-node',
  up: ({ schema, type }) => [
    schema
      .createTable('database_id_node')
      .addColumn('node', type.integer, (c) => c.primaryKey())
      .addColumn('reserved_until', type.bigint, (c) => c.notNull())
      .addColumn('holder', type.text(36), (c) => c.notNull()),
  ],
})
