import { defineChangeSet } from '@plinth/migrations'

/** Who meets a conflict learns whose change it was. */
export const nameLastEditor = defineChangeSet({
  id: '0002-name-last-editor',
  up: ({ schema, type }) => [schema.alterTable('open_app').addColumn('updated_by', type.text(128))],
})
