import { type Database, insertMissing, type NewRow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentTransaction } from './contract.ts'
import { PaymentTransactionRow, transactions } from './entities.ts'

export type NewTransaction = Omit<NewRow<typeof PaymentTransactionRow>, 'id' | 'createdAt'>

/** Payment transactions. Each is written once: a second one with any of the three unique keys is not added. */
export class TransactionRepository {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor({ db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Waits for a concurrent transaction with an equal key.
   *
   * @returns the id of the new transaction; undefined if one of its keys is in use
   */
  async add(transaction: NewTransaction): Promise<number | undefined> {
    const id = this.#db.newId()
    const row = { ...transaction, id, createdAt: this.#clock.now() }
    // Checks all three keys. `insertNew` would truncate long values.
    await insertMissing(this.#db, PaymentTransactionRow, 'any', [row])
    const found = await this.#db.query<{ id: unknown }>('select id from money_payment_transaction where id = ?', [id])
    return found.length === 1 ? id : undefined
  }

  /** Removes a row that the current database transaction added, because the order has changed. */
  async takeBack(id: number): Promise<void> {
    await this.#db.execute('delete from money_payment_transaction where id = ?', [id])
  }

  async find(outTradeNo: string, type: string, transactionHash: string): Promise<PaymentTransaction | undefined> {
    const row = await this.#db.fork().findOne(PaymentTransactionRow, { outTradeNo, type, transactionHash })
    return row === null ? undefined : transactions.of(row)
  }
}
