import { defineChangeSet } from '@plinth/migrations'

/**
 * Adds the owner of a message: a user, or the organisation of several users. Existing rows have no owner, so only
 * operators with the data scope `all` see them.
 */
export const nameRecipients = defineChangeSet({
  id: '0009-name-recipients',
  up: ({ schema, type }) =>
    ['notification_send_log', 'notification_message'].flatMap((table) => [
      schema.alterTable(table).addColumn('user_id', type.id),
      schema.alterTable(table).addColumn('org_id', type.id),
      schema.createIndex(`${table}_user_id_id_index`).on(table).columns(['user_id', 'id']),
      schema.createIndex(`${table}_org_id_id_index`).on(table).columns(['org_id', 'id']),
    ]),
})
