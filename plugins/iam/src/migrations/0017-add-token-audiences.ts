import { defineChangeSet } from '@plinth/migrations'

/** Adds tokens of an audience. Existing tokens are personal tokens, whose audience is null. */
export const addTokenAudiences = defineChangeSet({
  id: '0017-add-token-audiences',
  up: ({ schema, type }) => [
    schema.alterTable('iam_api_token').addColumn('audience', type.text(32)),
    schema.alterTable('iam_api_token').addColumn('session_id', type.id),
  ],
})
