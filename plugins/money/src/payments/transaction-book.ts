import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentTransaction } from './contract.ts'
import { PaymentTransactionRow } from './entities.ts'
import { transactionOf } from './payment-rows.ts'

export type NewTransaction = Omit<PaymentTransaction, 'id' | 'createdAt'>

const columns = [
  ...['id', 'out_trade_no', 'type', 'transaction_hash', 'amount'],
  ...['event_key', 'chain_name', 'log_ordinal', 'facts', 'created_at'],
]

/** Payment transactions, each of which is written once, whatever of its three keys comes again. */
export class TransactionBook {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor({ db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Waits for whoever writes one with an equal key just now.
   *
   * @returns the id of the new transaction; undefined when one of its keys is taken
   */
  async add(transaction: NewTransaction): Promise<number | undefined> {
    const { outTradeNo, type, transactionHash, amount, eventKey, chainName, logOrdinal, facts } = transaction
    const id = this.#db.newId()
    const isMysql = this.#db.dialect === 'mariadb' || this.#db.dialect === 'mysql'
    // Without naming an index: all three keys count. `insert ignore` would cut what is too long.
    const ignored = isMysql ? 'on duplicate key update id = money_payment_transaction.id' : 'on conflict do nothing'
    await this.#db.execute(
      `insert into money_payment_transaction (${columns.join(', ')})
       values (${columns.map(() => '?').join(', ')}) ${ignored}`,
      [
        ...[id, outTradeNo, type, transactionHash, amount, eventKey, chainName, logOrdinal],
        ...[facts === null ? null : JSON.stringify(facts), this.#clock.now()],
      ],
    )
    const found = await this.#db.query<{ id: unknown }>('select id from money_payment_transaction where id = ?', [id])
    return found.length === 1 ? id : undefined
  }

  /** Removes what this transaction of the database has added, because the order it was for has moved. */
  async takeBack(id: number): Promise<void> {
    await this.#db.execute('delete from money_payment_transaction where id = ?', [id])
  }

  async find(outTradeNo: string, type: string, transactionHash: string): Promise<PaymentTransaction | undefined> {
    const row = await this.#db.fork().findOne(PaymentTransactionRow, { outTradeNo, type, transactionHash })
    return row === null ? undefined : transactionOf(row)
  }
}
