import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

const used = 'money_used_refund'
const transaction = 'money_payment_transaction'

/**
 * Adds the table of used refunds, and marks refunds of earlier versions whose transaction repaid several orders or paid
 * one. Of several refunds with the same transaction, the oldest is the used one.
 */
export const useRefundsOnce = defineChangeSet({
  id: '0004-use-refunds-once',
  up: ({ schema, type }) => [
    schema
      .createTable(used)
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('provider', type.text(32), (c) => c.notNull())
      .addColumn('chain_name', type.text(64), (c) => c.notNull())
      .addColumn('reference', type.text(128), (c) => c.notNull())
      .addColumn('log_ordinal', type.integer, (c) => c.notNull()),
    schema
      .createIndex(`${used}_transfer_unique`)
      .unique()
      .on(used)
      .columns(['provider', 'chain_name', 'reference', 'log_ordinal']),
    schema.alterTable(transaction).addColumn('shared', type.boolean),
    schema.createIndex(`${transaction}_shared_id_index`).on(transaction).columns(['shared', 'id']),
  ],
  data: async ({ db }) => {
    const isPayment = (chain: string) => sql`exists (select 1 from money_payment_transaction payment
      where payment.transaction_hash = refund.reference and payment.type <> 'refund' and payment.chain_name ${sql.raw(chain)})`
    await sql`insert into money_used_refund (id, provider, chain_name, reference, log_ordinal)
      select id, provider, chain_name, reference, -1 from (
        select id, provider, chain_name, reference,
          row_number() over (partition by provider, chain_name, reference order by id) as place
        from (
          select t.id, o.provider, t.transaction_hash as reference,
            case when o.provider = 'web3' and t.transaction_hash like '0x%' then coalesce(o.chain_name, '') else '' end
              as chain_name
          from money_payment_transaction t join money_payment_order o on o.out_trade_no = t.out_trade_no
          where t.type = 'refund'
        ) as known
      ) as refund
      where place = 1 and not (provider = 'web3' and (${isPayment('= refund.chain_name')} or ${isPayment('is null')}))`.execute(
      db,
    )
    await sql`update money_payment_transaction set shared = ${sql.lit(true)} where type = 'refund'
      and not exists (select 1 from money_used_refund where money_used_refund.id = money_payment_transaction.id)`.execute(
      db,
    )
  },
})
