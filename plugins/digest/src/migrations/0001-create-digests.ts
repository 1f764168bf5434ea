import { defineChangeSet } from '@plinth/migrations'

export const createDigests = defineChangeSet({
  id: '0001-create-digests',
  up: ({ schema, type }) => {
    const index = (table: string, unique: boolean, ...columns: [string, ...string[]]) => {
      const name = `${table}_${columns.join('_')}_${unique ? 'unique' : 'index'}`
      const created = schema.createIndex(name).on(table).columns(columns)
      return unique ? created.unique() : created
    }
    return [
      schema
        .createTable('digest_definition')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('code', type.text(128), (c) => c.notNull())
        .addColumn('enabled', type.boolean, (c) => c.notNull())
        .addColumn('kind', type.text(16), (c) => c.notNull())
        .addColumn('window_seconds', type.integer, (c) => c.notNull())
        .addColumn('max_seconds', type.integer, (c) => c.notNull())
        .addColumn('slots', type.json, (c) => c.notNull())
        .addColumn('items_shown', type.integer, (c) => c.notNull())
        .addColumn('channels', type.json, (c) => c.notNull())
        .addColumn('template', type.text(128))
        .addColumn('subject', type.text(500))
        .addColumn('content', type.longText)
        .addColumn('version', type.integer, (c) => c.notNull())
        .addColumn('created_at', type.timestamp, (c) => c.notNull())
        .addColumn('updated_at', type.timestamp, (c) => c.notNull())
        .addColumn('updated_by', type.text(128)),
      index('digest_definition', true, 'code'),
      index('digest_definition', false, 'enabled', 'id'),
      index('digest_definition', false, 'created_at', 'id'),
      schema
        .createTable('digest')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('definition_id', type.id, (c) => c.notNull())
        .addColumn('user_id', type.id, (c) => c.notNull())
        .addColumn('subject_key', type.text(200), (c) => c.notNull())
        .addColumn('generation', type.bigint, (c) => c.notNull())
        .addColumn('state', type.text(16), (c) => c.notNull())
        .addColumn('item_count', type.integer, (c) => c.notNull())
        .addColumn('opened_at', type.timestamp, (c) => c.notNull())
        .addColumn('last_item_at', type.timestamp, (c) => c.notNull())
        .addColumn('closes_at', type.timestamp, (c) => c.notNull())
        .addColumn('latest_at', type.timestamp, (c) => c.notNull())
        .addColumn('slot', type.text(16))
        .addColumn('closed_at', type.timestamp)
        .addColumn('notification_id', type.id)
        .addColumn('failure', type.text(128))
        .addColumn('data', type.json, (c) => c.notNull())
        .addColumn('attributes', type.json, (c) => c.notNull()),
      index('digest', true, 'definition_id', 'user_id', 'subject_key', 'generation'),
      index('digest', false, 'generation', 'closes_at', 'id'),
      index('digest', false, 'definition_id', 'id'),
      index('digest', false, 'user_id', 'id'),
      index('digest', false, 'state', 'id'),
      index('digest', false, 'opened_at', 'id'),
      index('digest', false, 'closed_at', 'id'),
      schema
        .createTable('digest_item')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('digest_id', type.id, (c) => c.notNull())
        .addColumn('position', type.integer, (c) => c.notNull())
        .addColumn('item_hash', type.text(64))
        .addColumn('data', type.json)
        .addColumn('created_at', type.timestamp, (c) => c.notNull()),
      index('digest_item', true, 'digest_id', 'position'),
      index('digest_item', true, 'item_hash'),
      index('digest_item', false, 'created_at', 'id'),
    ]
  },
})
