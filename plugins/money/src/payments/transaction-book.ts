import { type Database, insertMissing, type NewRow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentTransaction } from './contract.ts'
import { PaymentTransactionRow, transactions } from './entities.ts'

export type NewTransaction = Omit<NewRow<typeof PaymentTransactionRow>, 'id' | 'createdAt'>

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
    const id = this.#db.newId()
    const row = { ...transaction, id, createdAt: this.#clock.now() }
    // All three keys count. `insertNew` would cut what is too long.
    await insertMissing(this.#db, PaymentTransactionRow, 'any', [row])
    const found = await this.#db.query<{ id: unknown }>('select id from money_payment_transaction where id = ?', [id])
    return found.length === 1 ? id : undefined
  }

  /** Removes what this transaction of the database has added, because the order it was for has moved. */
  async takeBack(id: number): Promise<void> {
    await this.#db.execute('delete from money_payment_transaction where id = ?', [id])
  }

  async find(outTradeNo: string, type: string, transactionHash: string): Promise<PaymentTransaction | undefined> {
    const row = await this.#db.fork().findOne(PaymentTransactionRow, { outTradeNo, type, transactionHash })
    return row === null ? undefined : transactions.of(row)
  }
}
