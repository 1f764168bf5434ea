import { defineChangeSet } from '@plinth/migrations'

export const createPush = defineChangeSet({
  id: '0001-create-push',
  up: ({ schema, type }) => {
    const indexes = (table: string, lists: readonly (readonly [string, ...string[]])[]) =>
      lists.map((columns) =>
        schema
          .createIndex(`${table}_${columns.join('_')}_index`)
          .on(table)
          .columns([...columns]),
      )
    return [
      schema
        .createTable('push_device')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('user_id', type.id, (c) => c.notNull())
        .addColumn('channel', type.text(16), (c) => c.notNull())
        .addColumn('label', type.text(100))
        .addColumn('service', type.text(255), (c) => c.notNull())
        .addColumn('status', type.text(16), (c) => c.notNull())
        .addColumn('target_hash', type.text(64), (c) => c.notNull())
        .addColumn('target', type.longText, (c) => c.notNull())
        .addColumn('registered_at', type.timestamp, (c) => c.notNull())
        .addColumn('last_success_at', type.timestamp)
        .addColumn('ended_at', type.timestamp)
        .addColumn('created_at', type.timestamp, (c) => c.notNull()),
      schema.createIndex('push_device_target_hash_unique').unique().on('push_device').column('target_hash'),
      ...indexes('push_device', [
        ['user_id', 'channel', 'status'],
        ['channel', 'id'],
        ['status', 'id'],
        ['status', 'registered_at'],
        ['ended_at'],
      ]),
      schema
        .createTable('push_acceptance')
        .addColumn('id', type.id, (c) => c.primaryKey())
        .addColumn('send_hash', type.text(64), (c) => c.notNull())
        .addColumn('device_id', type.id, (c) => c.notNull())
        .addColumn('created_at', type.timestamp, (c) => c.notNull()),
      schema
        .createIndex('push_acceptance_send_hash_device_id_unique')
        .unique()
        .on('push_acceptance')
        .columns(['send_hash', 'device_id']),
      ...indexes('push_acceptance', [['device_id'], ['created_at']]),
    ]
  },
})
