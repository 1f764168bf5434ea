import { type Database, insertMissingRows, type NewRow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { PaymentTransaction } from './contract.ts'
import { PaymentTransactionRow, transactions } from './entities.ts'

export type NewTransaction = Omit<NewRow<typeof PaymentTransactionRow>, 'id' | 'createdAt'>

/** A transaction is not added if one of its three unique keys is in use. */
export class TransactionRepository {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor({ db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> }) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Waits if a concurrent transaction adds an equal key.
   *
   * @returns the new id; undefined if a key is in use
   */
  async add(transaction: NewTransaction, id = this.#db.newId()): Promise<number | undefined> {
    const row = { ...transaction, id, createdAt: this.#clock.now() }
    // `insertMissingRows` checks all three unique keys. `insertRowsIfAbsent` would not do, because it truncates long values.
    await insertMissingRows(this.#db, PaymentTransactionRow, 'any', [row])
    const found = await this.#db.query<{ id: unknown }>('select id from money_payment_transaction where id = ?', [id])
    return found.length === 1 ? id : undefined
  }

  /** Removes a row of the current transaction, because the order has changed. */
  async takeBack(id: number): Promise<void> {
    await this.#db.execute('delete from money_payment_transaction where id = ?', [id])
  }

  async find(outTradeNo: string, type: string, transactionHash: string): Promise<PaymentTransaction | undefined> {
    const row = await this.#db.fork().findOne(PaymentTransactionRow, { outTradeNo, type, transactionHash })
    return row === null ? undefined : transactions.of(row)
  }

  /** Returns payments and refunds of an order, oldest first. */
  ofOrder(outTradeNo: string): Promise<readonly PaymentTransaction[]> {
    return transactions.select(this.#db, 'where out_trade_no = ? order by id', [outTradeNo])
  }

  /** Returns the payments with this hash on this chain, or on a chain that was not recorded. */
  paymentsWith(transactionHash: string, chainName: string | null): Promise<readonly PaymentTransaction[]> {
    return transactions.select(
      this.#db,
      `where transaction_hash = ? and (chain_name = ? or chain_name is null) and type <> 'refund'
         and type not like 'unmatched-repayment-%' order by id`,
      [transactionHash, chainName],
    )
  }
}
