import {
  type Database,
  incrementBy,
  insertRows,
  type NewRow,
  type Selected,
  selectionOf,
  updateRows,
} from '@plinth/database'
import { AccountRow, DebtRow } from '../entities.ts'
import type { LockedAccount } from './accounts.ts'

/** Maximum number of debts that one movement pays. Later movements pay the others. */
const maxDebts = 100

const stored = selectionOf(DebtRow)
export type Debt = Selected<typeof stored>

export interface DebtPayment {
  readonly debt: Debt
  readonly units: number
}

/**
 * Amounts that owners owe, because they had spent them before they were taken back. `owed` of an account is the sum of
 * its debts. All methods need the lock of the account.
 */
export class Debts {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async find(idemHash: string): Promise<Debt | undefined> {
    const [debt] = await stored.select(this.#db, 'where idem_hash = ?', [idemHash])
    return debt
  }

  async add(debt: NewRow<typeof DebtRow>): Promise<void> {
    await insertRows(this.#db, DebtRow, [debt])
    await updateRows(this.#db, AccountRow, { id: debt.accountId }, { owed: incrementBy(debt.owed) })
  }

  /** Marks debts as paid, the oldest first, up to this number of units. The caller must debit the units. */
  async pay(account: LockedAccount, units: number): Promise<readonly DebtPayment[]> {
    const debts = await stored.select(
      this.#db,
      `where account_id = ? and recovery = 'future-credits' and owed > 0 order by id limit ${maxDebts}`,
      [account.id],
    )
    const payments: DebtPayment[] = []
    let left = units
    for (const debt of debts) {
      const part = Math.min(left, debt.owed)
      if (part === 0) break
      await updateRows(this.#db, DebtRow, { id: debt.id }, { owed: debt.owed - part })
      payments.push({ debt, units: part })
      left -= part
    }
    account.owed -= units - left
    return payments
  }
}
