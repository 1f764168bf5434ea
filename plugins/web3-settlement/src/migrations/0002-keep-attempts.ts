import { defineChangeSet } from '@plinth/migrations'

const review = 'web3_settlement_review_log'
const callback = 'web3_payment_callback_log'
const position = 'web3_settlement_audit_position'

/**
 * Adds the last attempt and the hold to reviews, and the payment time to audit positions. New indexes find reviews by
 * transaction and attempts by review.
 */
export const storeAttempts = defineChangeSet({
  id: '0002-keep-attempts',
  up: ({ schema, type }) => [
    schema.alterTable(review).addColumn('last_outcome', type.text(16)),
    schema.alterTable(review).addColumn('last_reasons', type.json),
    schema.alterTable(review).addColumn('last_attempt_at', type.timestamp),
    schema.alterTable(review).addColumn('held_at', type.timestamp),
    schema.alterTable(position).addColumn('after_at', type.bigint),
    schema.createIndex(`${review}_transaction_hash_status_index`).on(review).columns(['transaction_hash', 'status']),
    schema.createIndex(`${review}_last_outcome_id_index`).on(review).columns(['last_outcome', 'id']),
    schema.createIndex(`${review}_source_log_id_index`).on(review).column('source_log_id'),
    schema.createIndex(`${callback}_review_log_id_id_index`).on(callback).columns(['review_log_id', 'id']),
  ],
  data: async ({ db }) => {
    await db
      .updateTable(review)
      .set((eb) => {
        const last = eb
          .selectFrom(`${callback} as attempt`)
          .select(({ fn }) => fn.max('attempt.id').as('id'))
          .whereRef('attempt.review_log_id', '=', `${review}.id`)
        const memberOf = (column: string) =>
          eb
            .selectFrom(`${callback} as last_attempt`)
            .select(`last_attempt.${column}`)
            .where('last_attempt.id', '=', last)
        return {
          last_outcome: memberOf('outcome'),
          last_reasons: memberOf('reasons'),
          last_attempt_at: memberOf('created_at'),
        }
      })
      // biome-ignore lint/suspicious/noExplicitAny: the schema of that moment has no type
      .where('id', 'in', (eb: any) => eb.selectFrom(callback).select('review_log_id'))
      .execute()
  },
})
