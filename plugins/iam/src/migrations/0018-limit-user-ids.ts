import { defineChangeSet } from '@plinth/migrations'

export const limitUserIds = defineChangeSet({
  id: '0018-limit-user-ids',
  up: ({ schema, type }) => [
    schema.alterTable('iam_epoch').addColumn('user_id_limit', type.bigint, (c) => c.notNull().defaultTo(0)),
  ],
})
