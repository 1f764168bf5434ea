import { defineChangeSet } from '@plinth/migrations'

/** Adds the last editor, which a version conflict reports. */
export const nameLastEditor = defineChangeSet({
  id: '0002-name-last-editor',
  up: ({ schema, type }) => [schema.alterTable('open_app').addColumn('updated_by', type.text(128))],
})
