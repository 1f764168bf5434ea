import { defineChangeSet } from '@plinth/migrations'

/** Maximum length of a name: "counter:" and 200 characters, each of which is escaped to at most three characters. */
export const nameLength = 640

export const createEntries = defineChangeSet({
  id: '0001-create-entries',
  up: ({ schema, type }) => [
    schema
      .createTable('shared_store_entry')
      .addColumn('name', type.text(nameLength), (c) => c.notNull())
      .addColumn('variant', type.text(40), (c) => c.notNull())
      .addColumn('content', type.longText)
      .addColumn('amount', type.bigint, (c) => c.notNull())
      .addColumn('since', type.bigint, (c) => c.notNull())
      .addColumn('expires_at', type.bigint)
      .addPrimaryKeyConstraint('shared_store_entry_pk', ['name', 'variant']),
    schema.createIndex('shared_store_entry_expires_at_index').on('shared_store_entry').column('expires_at'),

    schema
      .createTable('shared_store_message')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('channel', type.text(nameLength), (c) => c.notNull())
      .addColumn('content', type.longText, (c) => c.notNull())
      .addColumn('sent_at', type.bigint, (c) => c.notNull()),
    schema.createIndex('shared_store_message_sent_at_index').on('shared_store_message').column('sent_at'),
  ],
})
