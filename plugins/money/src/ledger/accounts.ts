import {
  type Database,
  exactInteger,
  insertOrReplaceRows,
  insertRowsIfAbsent,
  type Selected,
  selectionOf,
  updateRows,
} from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import type { AccountRef } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { AccountRow, type AccountStatus } from '../entities.ts'
import { systemOwner } from './checks.ts'

const stored = selectionOf(AccountRow).omit('role', 'updatedAt')

export interface LockedAccount extends Omit<Selected<typeof stored>, 'available' | 'frozen' | 'owed' | 'version'> {
  /** Version in the database; `version` is the new one. */
  readonly storedVersion: number
  available: number
  frozen: number
  owed: number
  version: number
}

/** Maximum number of cached account ids. Each of them saves a query per posting. */
const maxCachedIds = 20_000
/** Numbers of ids that one statement may contain, so that few distinct statements are prepared. */
const sizes = [1, 2, 4, 8, 16, 32, 100, 500] as const
const largest = 500

/** Returns owner and asset of a row that contains these columns. */
export const refOf = (row: Readonly<Record<string, unknown>>): AccountRef => ({
  owner: { type: String(row['owner_type']), id: String(row['owner_id']) },
  asset: String(row['asset']),
})

/** Unique name of an account. */
export const nameOf = ({ owner, asset }: AccountRef) => `${asset}\n${owner.type}\n${owner.id}`

/** Finds, creates, locks and writes account rows inside the transaction of a posting. */
export class Accounts {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  /** Contains only ids of committed rows. */
  readonly #ids = new LRUCache<string, number>({ max: maxCachedIds })
  /** Last part of the SQL statement that locks accounts, by number of accounts. */
  readonly #lockTexts: ReadonlyMap<number, string>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
    // SQLite has no row locks and needs none, because only one transaction can write at a time.
    const clause = db.dialect === 'sqlite' ? '' : ' for update'
    const text = (count: number) => `where id in (${Array(count).fill('?').join(', ')}) order by id${clause}`
    this.#lockTexts = new Map(sizes.map((count) => [count, text(count)]))
  }

  async find(ref: AccountRef): Promise<number | undefined> {
    const name = nameOf(ref)
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const { owner, asset } = ref
    const sql = `select id from money_account where owner_type = ? and owner_id = ? and asset = ?`
    const [row] = await this.#db.query<{ id: unknown }>(sql, [owner.type, owner.id, asset])
    if (row === undefined) return undefined
    const id = exactInteger(row.id)
    this.#keep(name, id)
    return id
  }

  /** Returns owner and asset of an account; undefined if it does not exist. */
  async refOf(id: number): Promise<AccountRef | undefined> {
    const [row] = await this.#db.query<Record<string, unknown>>(
      'select owner_type, owner_id, asset from money_account where id = ?',
      [id],
    )
    return row && refOf(row)
  }

  async findOrMake(ref: AccountRef): Promise<number> {
    const found = await this.find(ref)
    if (found !== undefined) return found
    const { owner, asset } = ref
    const id = this.#db.newId()
    const now = this.#clock.now()
    const role = owner.type === systemOwner ? 'system' : 'owner'
    const account = {
      id,
      ownerType: owner.type,
      ownerId: owner.id,
      asset,
      role,
      createdAt: now,
      updatedAt: now,
    } as const
    const empty = { available: 0, frozen: 0, owed: 0, version: 0, status: 'open' } as const
    const unique = ['ownerType', 'ownerId', 'asset'] as const
    const made = await insertRowsIfAbsent(this.#db, AccountRow, unique, [{ ...account, ...empty }])
    if (made === 0) return this.findOrMake(ref)
    this.#keep(nameOf(ref), id)
    return id
  }

  /**
   * Returns the system account on the other side of a movement. It stores no balance, so postings need not lock its
   * row.
   */
  system(asset: string, name: string): Promise<number> {
    return this.findOrMake({ owner: { type: systemOwner, id: name }, asset })
  }

  /** Locks accounts until the end of the transaction, in ascending order to prevent deadlocks. Skips unknown ids. */
  async lock(ids: Iterable<number>): Promise<Map<number, LockedAccount>> {
    const sorted = [...new Set(ids)].sort((a, b) => a - b)
    const locked = new Map<number, LockedAccount>()
    for (let from = 0; from < sorted.length; from += largest) {
      for (const account of await this.#lockSome(sorted.slice(from, from + largest))) locked.set(account.id, account)
    }
    return locked
  }

  async #lockSome(ids: readonly number[]): Promise<readonly LockedAccount[]> {
    const size = sizes.find((size) => size >= ids.length) ?? largest
    // Repeats the last id up to the length that the statement expects.
    const values = size === ids.length ? ids : [...ids, ...Array<number>(size - ids.length).fill(ids.at(-1) ?? 0)]
    const rows = await stored.select(this.#db, this.#lockTexts.get(size) ?? '', values)
    return rows.map((row) => ({ ...row, storedVersion: row.version }))
  }

  /**
   * The update of a single account checks its version. For several accounts, the unique index on `seq` of the entries
   * detects a lost update.
   */
  async write(accounts: readonly LockedAccount[]): Promise<void> {
    const now = this.#clock.now()
    const [account] = accounts
    if (accounts.length === 1 && account !== undefined) {
      const { id, available, frozen, owed, version, storedVersion } = account
      const changes = { available, frozen, owed, version, updatedAt: now }
      const changed = await updateRows(this.#db, AccountRow, { id, version: storedVersion }, changes)
      if (changed !== 1) throw new Error(`Account ${id} changed under its lock.`)
      return
    }
    const rows = accounts
      .toSorted((a, b) => a.id - b.id)
      .map(({ storedVersion: _, ...account }) => ({ ...account, role: 'owner' as const, updatedAt: now }))
    const sets = ['available', 'frozen', 'owed', 'version', 'updatedAt'] as const
    await insertOrReplaceRows(this.#db, AccountRow, { key: 'id', sets }, rows)
  }

  /** @throws BusinessError `404` `money.account-unknown` */
  async setStatus(id: number, status: AccountStatus): Promise<void> {
    const changes = { status, updatedAt: this.#clock.now() }
    const changed = await updateRows(this.#db, AccountRow, { id, role: 'owner' }, changes)
    if (changed === 0) throw businessError('account-unknown')
  }

  /** A rollback would remove a new account, so its id is cached after the commit. */
  #keep(name: string, id: number): void {
    this.#db.afterCommit(() => {
      this.#ids.set(name, id)
    })
  }
}
