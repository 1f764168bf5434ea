import { defineEntity } from '@mikro-orm/core'
import { databaseTimeMsSql, readDatabaseTime } from '@plinth/coordination'
import {
  column,
  type Database,
  insertMissingRows,
  insertOrReplaceRows,
  type RowOf,
  selectionOf,
} from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { nameLength } from './migrations/0001-create-entries.ts'

const StoredEntry = defineEntity({
  name: 'SharedStoreEntry',
  tableName: 'shared_store_entry',
  properties: {
    name: column.text(nameLength).primary(),
    /** Distinguishes windows or buckets of the same key. Empty for other kinds of entries. */
    variant: column.text(40).primary(),
    content: column.longText().nullable(),
    amount: column.bigint(),
    since: column.bigint(),
    /** Milliseconds since the epoch; null: never. */
    expiresAt: column.bigint().nullable(),
  },
})

/** One row. The meaning of `amount` and `since` depends on the kind of the entry. */
export type Entry = RowOf<typeof StoredEntry>

const stored = selectionOf(StoredEntry)
const replaced = { key: ['name', 'variant'], sets: ['content', 'amount', 'since', 'expiresAt'] } as const

export type EntryId = Pick<Entry, 'name' | 'variant'>

/** Returns the row for a deleted entry, which has expired and is removed by the next sweep. */
export const deletedEntryRow = (id: EntryId): Entry => ({ ...id, content: null, amount: 0, since: 0, expiresAt: 0 })

export const entryKey = ({ name, variant }: EntryId) => `${variant} ${name}`

/** Numbers of rows per statement. Only a few sizes are used, so that there are few prepared statements. */
const chunkSizes = [32, 4, 1] as const
const sweepSize = 500
/** Maximum number of attempts to lock an entry. The sweep may delete its row between insert and lock. */
const lockTries = 5

interface Decision<T> {
  readonly answer: T
  readonly changed?: Iterable<Entry>
}

/** @param held keys of entries that other transactions have locked */
type DecideFree<T> = (live: ReadonlyMap<string, Entry>, now: number, held: ReadonlySet<string>) => Decision<T>

/** Reads and writes rows of `shared_store_entry`. */
export class StoredEntries {
  readonly #db: Database
  readonly #clock: Clock
  readonly #family: 'sqlite' | 'postgresql' | 'mysql'

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
    this.#family = db.dialect === 'mariadb' ? 'mysql' : db.dialect
  }

  /** Returns the time of the database, which is the same for all instances. */
  now(): Promise<number> {
    return readDatabaseTime(this.#db, this.#clock)
  }

  /** Returns the entry, or undefined if it does not exist or has expired. */
  async read(id: EntryId): Promise<Entry | undefined> {
    const now = await this.now()
    const [entry] = await this.#select([id], '')
    return entry !== undefined && isLive(entry, now) ? entry : undefined
  }

  /**
   * Locks entries, passes those that have not expired to `decide`, and writes the changed entries, in one transaction.
   * If the transaction conflicts with another one, `decide` is called again.
   */
  change<T>(
    ids: readonly EntryId[],
    decide: (live: ReadonlyMap<string, Entry>, now: number) => Decision<T>,
  ): Promise<T> {
    return this.#change(async (sorted) => ({ rows: await this.#lock(sorted), held: [] }), ids, decide)
  }

  /**
   * Like `change`, but skips entries that other transactions have locked.
   *
   * @param decide also receives the keys of locked entries, which it must not change
   */
  changeFree<T>(ids: readonly EntryId[], decide: DecideFree<T>): Promise<T> {
    return this.#change((sorted) => this.#lockFree(sorted), ids, decide)
  }

  #change<T>(
    lock: (
      sorted: readonly EntryId[],
    ) => Promise<{ readonly rows: readonly Entry[]; readonly held: readonly EntryId[] }>,
    ids: readonly EntryId[],
    decide: DecideFree<T>,
  ): Promise<T> {
    const distinct = [...new Map(ids.map((id) => [entryKey(id), id])).entries()]
    // All transactions lock entries in this order, so that no deadlock occurs.
    const sorted = distinct.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, id]) => id)
    return this.#db.transactional(async () => {
      const { rows, held } = await lock(sorted)
      const now = await this.now()
      const live = rows.filter((entry) => isLive(entry, now)).map((entry) => [entryKey(entry), entry] as const)
      const { answer, changed = [] } = decide(new Map(live), now, new Set(held.map(entryKey)))
      await this.write([...changed])
      return answer
    })
  }

  /**
   * Changes an entry if its content equals `content` and `since` is in the future. Uses the reserved connection, so
   * that a busy pool does not delay it. Returns false if nothing was changed.
   *
   * @param leaseMs milliseconds from now until the new `since`
   * @param keptMs milliseconds from now until the entry expires
   */
  async changeHeld(
    { name, variant }: EntryId,
    content: string,
    next: string | null,
    leaseMs: number,
    keptMs: number,
  ): Promise<boolean> {
    const { sql: now, parameters } = databaseTimeMsSql(this.#db, this.#clock)
    const changed = await this.#db.reserved.execute(
      `update shared_store_entry set content = ?, since = ${now} + ?, expires_at = ${now} + ?
       where name = ? and variant = ? and content = ? and since > ${now}`,
      [next, ...parameters, leaseMs, ...parameters, keptMs, name, variant, content, ...parameters],
    )
    return changed > 0
  }

  async write(entries: readonly Entry[]): Promise<void> {
    await insertOrReplaceRows(this.#db, StoredEntry, replaced, entries)
  }

  async deleteAll(name: string): Promise<void> {
    await this.#db.execute('delete from shared_store_entry where name = ?', [name])
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const now = await this.now()
    const statement =
      this.#family === 'mysql'
        ? `delete from shared_store_entry where expires_at <= ? limit ${sweepSize}`
        : `delete from shared_store_entry where expires_at <= ? and (name, variant) in
           (select name, variant from shared_store_entry where expires_at <= ? limit ${sweepSize})`
    const parameters = this.#family === 'mysql' ? [now] : [now, now]
    while (!signal.aborted && (await this.#db.execute(statement, parameters)) >= sweepSize);
  }

  async #lock(ids: readonly EntryId[]): Promise<Entry[]> {
    // On SQLite, a transaction is the only writer, so no row locks are needed.
    if (this.#family === 'sqlite') return this.#select(ids, '')
    let missing = ids
    const locked: Entry[] = []
    for (let count = 0; count < lockTries; count++) {
      locked.push(...(await this.#select(missing, ' for update')))
      missing = without(missing, locked)
      if (missing.length === 0) return locked
      await insertMissingRows(this.#db, StoredEntry, 'any', missing.map(deletedEntryRow))
    }
    throw new Error(`Entries of the shared store vanish while they are locked: ${missing[0]?.name}`)
  }

  async #lockFree(ids: readonly EntryId[]): Promise<{ rows: Entry[]; held: EntryId[] }> {
    if (this.#family === 'sqlite') return { rows: await this.#lock(ids), held: [] }
    const rows = await this.#select(ids, ' for update skip locked')
    const skipped = without(ids, rows)
    // A skipped entry that can be read is locked by another transaction. A skipped entry that cannot be read does not
    // exist.
    const held = skipped.length === 0 ? [] : await this.#select(skipped, '')
    const absent = without(skipped, held)
    if (absent.length > 0) rows.push(...(await this.#lock(absent)))
    return { rows, held }
  }

  async #select(ids: readonly EntryId[], suffix: string): Promise<Entry[]> {
    const found: Entry[] = []
    for (const chunk of chunks(ids)) {
      const places = chunk.map(() => '(?, ?)').join(', ')
      const where = `where (name, variant) in (${this.#family === 'sqlite' ? 'values ' : ''}${places})${suffix}`
      const values = chunk.flatMap(({ name, variant }) => [name, variant])
      found.push(...(await stored.select(this.#db, where, values)))
    }
    return found
  }
}

function without(ids: readonly EntryId[], others: readonly EntryId[]): readonly EntryId[] {
  const known = new Set(others.map(entryKey))
  return ids.filter((id) => !known.has(entryKey(id)))
}

const isLive = ({ expiresAt }: Entry, now: number) => expiresAt === null || expiresAt > now

function* chunks<T>(items: readonly T[]): Generator<readonly T[]> {
  let from = 0
  for (const size of chunkSizes) {
    for (; items.length - from >= size; from += size) yield items.slice(from, from + size)
  }
}
