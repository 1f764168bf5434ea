import { type Database, exactInteger, insertNew, putRows } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import type { AccountRef } from '../contract.ts'
import type { AccountStatus } from '../entities.ts'
import { refusal } from '../failures.ts'
import { systemOwner } from './checks.ts'

/** A row of the table of accounts whose lock the transaction holds. */
export interface LockedAccount {
  readonly id: number
  readonly ownerType: string
  readonly ownerId: string
  readonly asset: string
  readonly status: AccountStatus
  readonly createdAt: number
  /** As stored. */
  readonly storedVersion: number
  available: number
  frozen: number
  version: number
}

const table = 'money_account'
const columns = [
  ...['id', 'owner_type', 'owner_id', 'asset', 'role', 'available', 'frozen', 'version', 'status'],
  ...['created_at', 'updated_at'],
]
/** Ids of accounts that are kept, so that a posting need not look for its account. */
const keptIds = 20_000
/** Ids in one statement. Few sizes keep the number of prepared texts small. */
const sizes = [1, 2, 4, 8, 16, 32, 100, 500] as const
const largest = 500

const nameOf = ({ owner, asset }: AccountRef) => `${asset}\n${owner.type}\n${owner.id}`

/** Finds, makes, locks and writes accounts, inside the transaction of a posting. */
export class Accounts {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  /** Of rows that were committed. */
  readonly #ids = new LRUCache<string, number>({ max: keptIds })
  /** By the number of accounts. */
  readonly #lockTexts: ReadonlyMap<number, string>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
    // A transaction of SQLite holds the one write lock from its beginning.
    const clause = db.dialect === 'sqlite' ? '' : ' for update'
    const text = (count: number) =>
      `select id, owner_type, owner_id, asset, available, frozen, version, status, created_at from ${table}
       where id in (${Array(count).fill('?').join(', ')}) order by id${clause}`
    this.#lockTexts = new Map(sizes.map((count) => [count, text(count)]))
  }

  async find(ref: AccountRef): Promise<number | undefined> {
    const name = nameOf(ref)
    const known = this.#ids.get(name)
    if (known !== undefined) return known
    const { owner, asset } = ref
    const sql = `select id from ${table} where owner_type = ? and owner_id = ? and asset = ?`
    const [row] = await this.#db.query<{ id: unknown }>(sql, [owner.type, owner.id, asset])
    if (row === undefined) return undefined
    const id = exactInteger(row.id)
    this.#keep(name, id)
    return id
  }

  async findOrMake(ref: AccountRef): Promise<number> {
    const found = await this.find(ref)
    if (found !== undefined) return found
    const { owner, asset } = ref
    const id = this.#db.newId()
    const now = this.#clock.now()
    const role = owner.type === systemOwner ? 'system' : 'owner'
    const row = [id, owner.type, owner.id, asset, role, 0, 0, 0, 'open', now, now]
    const made = await insertNew(this.#db, { table, columns, unique: ['owner_type', 'owner_id', 'asset'] }, [row])
    if (made === 0) return this.findOrMake(ref)
    this.#keep(nameOf(ref), id)
    return id
  }

  /** The other side of what enters and leaves the accounts of owners. It has no balance that everybody would wait for. */
  system(asset: string, name: string): Promise<number> {
    return this.findOrMake({ owner: { type: systemOwner, id: name }, asset })
  }

  /** Locks accounts until the end of the transaction, in ascending order, as everybody does. Unknown ones are left out. */
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
    // The last one is named as often as the text has places.
    const values = size === ids.length ? ids : [...ids, ...Array<number>(size - ids.length).fill(ids.at(-1) ?? 0)]
    const rows = await this.#db.query<Record<string, unknown>>(this.#lockTexts.get(size) ?? '', values)
    return rows.map((row) => ({
      id: exactInteger(row['id']),
      ownerType: String(row['owner_type']),
      ownerId: String(row['owner_id']),
      asset: String(row['asset']),
      status: row['status'] as AccountStatus,
      createdAt: exactInteger(row['created_at']),
      storedVersion: exactInteger(row['version']),
      available: exactInteger(row['available']),
      frozen: exactInteger(row['frozen']),
      version: exactInteger(row['version']),
    }))
  }

  /** Writes locked accounts. One alone says which version it starts from; of many the chain of entries does. */
  async write(accounts: readonly LockedAccount[]): Promise<void> {
    const now = this.#clock.now()
    const [account] = accounts
    if (accounts.length === 1 && account !== undefined) {
      const { id, available, frozen, version, storedVersion } = account
      const changed = await this.#db.execute(
        `update ${table} set available = ?, frozen = ?, version = ?, updated_at = ? where id = ? and version = ?`,
        [available, frozen, version, now, id, storedVersion],
      )
      if (changed !== 1) throw new Error(`Account ${id} changed under its lock.`)
      return
    }
    const rows = [...accounts]
      .sort((a, b) => a.id - b.id)
      .map((one) => [
        ...[one.id, one.ownerType, one.ownerId, one.asset, 'owner', one.available, one.frozen, one.version, one.status],
        ...[one.createdAt, now],
      ])
    await putRows(this.#db, { table, columns, key: 'id', sets: ['available', 'frozen', 'version', 'updated_at'] }, rows)
  }

  /** @throws BusinessError `404` `money.account-unknown` */
  async setStatus(id: number, status: AccountStatus): Promise<void> {
    const sql = `update ${table} set status = ?, updated_at = ? where id = ? and role = ?`
    if ((await this.#db.execute(sql, [status, this.#clock.now(), id, 'owner'])) === 0) throw refusal('account-unknown')
  }

  /** Only of what was committed: another transaction may have made it and be rolled back. */
  #keep(name: string, id: number): void {
    this.#db.afterCommit(() => {
      this.#ids.set(name, id)
    })
  }
}
