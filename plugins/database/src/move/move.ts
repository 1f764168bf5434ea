import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import type { Clock, CommandFinding } from '@plinth/kernel'
import { Migrator, type PluginChangeSets } from '@plinth/migrations'
import { CompiledQuery } from 'kysely'
import { type ConnectionSettings, databaseLocationText, isMissingFile } from '../connections/connection-failure.ts'
import { databaseError } from '../errors.ts'
import { probeTarget } from '../probe-target.ts'
import { IdSource, type IdSourceTables, reservationTime } from '../rows/id-source.ts'
import {
  createMoveTables,
  dropMoveTables,
  insertMarker,
  type MoveMarker,
  moveTableNames,
  movingNow,
  readMarker,
  readProgress,
  writeMarker,
  writeProgress,
} from './move-state.ts'
import { withDatabase } from './open-database.ts'
import { differenceText, type ProvenTable, proveTable, type RowDifference } from './proof.ts'
import { checkSqlite, checkTable, problemText, type SourceProblem, type TargetLimits } from './source-check.ts'
import { insertStoredRows, keyOf, readRows, type StoredRow } from './stored-rows.ts'
import { findStoredTables, type StoredDatabase, type StoredTable, tableNamesOf } from './stored-tables.ts'
import { type WriteFence, withWriteFence } from './write-fence.ts'

export interface MoveOptions {
  readonly source: ConnectionSettings
  readonly target: ConnectionSettings
  /** Change sets of all plugins. */
  readonly changeSets: readonly PluginChangeSets[]
  /** Tables whose rows belong to running processes. Their rows are not copied. */
  readonly processTables: ReadonlySet<string>
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onProgress: (text: string) => void
  /** Runs the checks of `plinth doctor --data` on the source or on the target. */
  readonly examine: (on: 'source' | 'target') => Promise<readonly CommandFinding[]>
  /** True to check source and target without changing them. */
  readonly isRehearsal: boolean
}

export interface MoveResult {
  /** False for a rehearsal. */
  readonly moved: boolean
  readonly source: string
  readonly target: string
  /** Tables with equal rows in both databases. Empty for a rehearsal. */
  readonly tables: readonly ProvenTable[]
  readonly rows: number
  /** Tables whose rows belong to processes of the source and were not copied. */
  readonly notCopied: readonly string[]
  /** Checks of the product that fail on the target and failed on the source before. */
  readonly earlierFailures: readonly CommandFinding[]
}

/** Milliseconds between two lines of progress. */
const progressMs = 2_000

const otherMove = 'another move has begun'

/** Maximum number of problems that an error message lists. The error contains all of them. */
const maxListed = 50

const linesOf = (texts: readonly string[]) =>
  [...texts.slice(0, maxListed), ...(texts.length > maxListed ? [`and ${texts.length - maxListed} more`] : [])]
    .map((text) => `\n  ${text}`)
    .join('')

/**
 * Moves all rows of a product to an empty database, and proves that they are equal there:
 *
 * 1. checks both databases, the change sets and the checks of the product
 * 2. marks the source, so that no instance starts, and locks its tables against writes
 * 3. reads all rows and reports the values that the target cannot store
 * 4. creates the tables of the target with the change sets, and copies the rows in pages. The resume point of a page is
 *    written in the transaction of its rows
 * 5. reads all rows of both databases again with new connections and compares their hashes
 * 6. runs the checks of the product on the target
 * 7. marks the source as moved, and removes the marks of the target
 *
 * If the process is killed, the next call continues. Until step 7, the source stays complete; see `cancelMove`.
 *
 * @throws PlinthError `PLINTH_DATABASE_MOVE_*`, `PLINTH_DATABASE_MOVING`, `PLINTH_DATABASE_MOVED`, those of
 *   `Database.probe`
 */
export async function moveDatabase(options: MoveOptions): Promise<MoveResult> {
  const { source, target, isRehearsal } = options
  if (source.type === 'sqlite' && source.file === ':memory:') {
    throw databaseError('PLINTH_DATABASE_MOVE_OPTIONS', { reason: 'the source is a database in memory' })
  }
  if (databaseLocationText(source) === databaseLocationText(target)) {
    throw databaseError('PLINTH_DATABASE_MOVE_OPTIONS', { reason: 'source and target are the same database' })
  }
  if (await isMissingFile(source)) {
    throw databaseError('PLINTH_DATABASE_MOVE_OPTIONS', {
      reason: `the file ${databaseLocationText(source)} is missing`,
    })
  }
  const isTemporary = isRehearsal && target.type === 'sqlite' && (await isMissingFile(target))
  const moved = withDatabase(source, async (from) => {
    const place = databaseLocationText(source)
    await assertSameChangeSets(from, options, place)
    const { tables, problems } = await findStoredTables(from, options.changeSets)
    if (problems.length > 0) throw sourceError(place, problems)
    return withDatabase(target, (to) => new Move(options, from, to, tables).run())
  })
  return moved.finally(async () => {
    if (!isTemporary) return
    for (const suffix of ['', '-wal', '-shm']) await rm(`${target.file}${suffix}`, { force: true })
  })
}

/**
 * Cancels a move: the source can be used again. Rows of the target stay, and the target keeps rejecting starts.
 *
 * @param isForced also if the move has ended: changes that were made in the target are then missing
 * @throws PlinthError `PLINTH_DATABASE_MOVE_NONE`, `PLINTH_DATABASE_MOVED`; `PLINTH_DATABASE_MOVE_IN_USE` if a process is
 *   moving the data
 */
export async function cancelMove(source: ConnectionSettings, isForced: boolean): Promise<MoveMarker> {
  const place = databaseLocationText(source)
  if (await isMissingFile(source)) throw databaseError('PLINTH_DATABASE_MOVE_NONE', { place })
  const cancellable = (marker: MoveMarker | undefined): MoveMarker => {
    const isSource = marker?.state === 'moving' || marker?.state === 'moved'
    if (marker === undefined || !isSource) throw databaseError('PLINTH_DATABASE_MOVE_NONE', { place })
    if (marker.state === 'moved' && !isForced) {
      const at = new Date(marker.changedAt).toISOString()
      throw databaseError('PLINTH_DATABASE_MOVED', { place, other: marker.place, at })
    }
    return marker
  }
  return withDatabase(source, async (locking) => {
    const { db, dialect } = locking
    cancellable(await readMarker(db, dialect))
    return withWriteFence(locking, place, [], async (fence) => {
      // The move may have ended meanwhile.
      const marker = cancellable(await readMarker(fence.db, dialect))
      await fence.endMove()
      return marker
    })
  })
}

async function assertSameChangeSets({ db, dialect }: StoredDatabase, { changeSets }: MoveOptions, place: string) {
  const { pending, changed, unknown, orphaned } = await new Migrator({ db, dialect, plugins: changeSets }).status()
  const reasons = Object.entries({ pending, changed, unknown, 'of plugins that are not loaded': orphaned })
    .filter(([, entries]) => entries.length > 0)
    .map(([kind, entries]) => `${kind}: ${entries.map(({ plugin, id }) => `${plugin}/${id}`).join(', ')}`)
  if (reasons.length === 0) return
  throw databaseError('PLINTH_DATABASE_MOVE_CHANGE_SETS', { place, reason: reasons.join('; ') })
}

const sourceError = (place: string, problems: readonly SourceProblem[]) =>
  Object.assign(
    databaseError('PLINTH_DATABASE_MOVE_SOURCE', {
      place,
      count: problems.length,
      problems: linesOf(problems.map(problemText)),
    }),
    { problems },
  )

class Move {
  readonly #options: MoveOptions
  readonly #from: StoredDatabase
  readonly #to: StoredDatabase
  readonly #tables: readonly StoredTable[]
  readonly #places: { readonly source: string; readonly target: string }
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(options: MoveOptions, from: StoredDatabase, to: StoredDatabase, tables: readonly StoredTable[]) {
    this.#options = options
    this.#from = from
    this.#to = to
    this.#tables = tables
    this.#places = { source: databaseLocationText(options.source), target: databaseLocationText(options.target) }
  }

  async run(): Promise<MoveResult> {
    const { db, dialect } = this.#from
    const [marker, targetMarker] = [await readMarker(db, dialect), await readMarker(this.#to.db, this.#to.dialect)]
    if (marker?.state === 'moved') return this.#finish(marker, targetMarker)
    await this.#assertTarget(marker, targetMarker)
    await probeTarget(this.#options.target, this.#options.changeSets)
    const limits = await targetLimits(this.#to, this.#places.target)
    const moveId = marker?.moveId ?? randomUUID()
    this.#say('Checking the product on the source')
    const before = await movingNow.run(moveId, () => this.#options.examine('source'))
    if (this.#options.isRehearsal) return this.#rehearse(limits, before)
    if (marker === undefined) await this.#begin(moveId)
    let hasWritten = targetMarker !== undefined
    const work = async (fence: WriteFence) => {
      if ((await readMarker(fence.db, dialect))?.moveId !== moveId) throw this.#inUse(otherMove)
      await this.#assertUnused()
      const state = targetMarker?.state ?? 'preparing'
      if (state === 'preparing') {
        await this.#check(limits)
        hasWritten = true
        await this.#prepare(moveId)
      }
      if (state !== 'proven') await this.#copy(fence)
      // An earlier proof is not valid any more, because the source was not locked meanwhile.
      await this.#prove(moveId)
      const earlierFailures = await this.#examine(moveId, before)
      await fence.assertHeld()
      await writeMarker(fence.db, this.#marker(moveId, 'moved'))
      await fence.commit()
      return earlierFailures
    }
    const earlierFailures = await this.#fenced(work).catch(async (error: unknown) => {
      // If another process continues this move, it holds the lock, and the marker stays.
      if (marker === undefined && !hasWritten) await this.#giveUp(moveId).catch(() => undefined)
      throw error
    })
    return this.#end(earlierFailures)
  }

  /** Marks the source. The marker has a fixed key, so of two moves only one can insert it. */
  async #begin(moveId: string): Promise<void> {
    const { db, dialect } = this.#from
    if ((await readMarker(db, dialect)) !== undefined) throw this.#inUse(otherMove)
    await createMoveTables(db, dialect)
    await insertMarker(db, this.#marker(moveId, 'moving')).catch(async (error: unknown) => {
      throw (await readMarker(db, dialect)) === undefined ? error : this.#inUse(otherMove, error)
    })
  }

  #giveUp(moveId: string): Promise<void> {
    return withDatabase(this.#options.source, (locking) =>
      withWriteFence(locking, this.#places.source, [], async (fence) => {
        const current = await readMarker(fence.db, locking.dialect)
        if (current?.moveId === moveId) await fence.endMove()
      }),
    )
  }

  /** The lock needs a connection of its own, which SQLite only has with another open file. */
  #fenced<T>(work: (fence: WriteFence) => Promise<T>): Promise<T> {
    const names = this.#tables.map(({ table }) => table)
    return withDatabase(this.#options.source, (locking) => withWriteFence(locking, this.#places.source, names, work))
  }

  /** Ends a move whose process was killed after the source was marked as moved. */
  async #finish(marker: MoveMarker, targetMarker: MoveMarker | undefined): Promise<MoveResult> {
    if (targetMarker?.moveId !== marker.moveId || this.#options.isRehearsal) {
      const at = new Date(marker.changedAt).toISOString()
      throw databaseError('PLINTH_DATABASE_MOVED', { place: this.#places.source, other: marker.place, at })
    }
    return this.#end([])
  }

  /** Removes the marks of the target. */
  async #end(earlierFailures: readonly CommandFinding[]): Promise<MoveResult> {
    const progress = await readProgress(this.#to.db)
    const tables = this.#copied.flatMap(({ table }) => {
      const { rows, sum } = progress.get(table) ?? {}
      return rows === undefined || sum == null ? [] : [{ table, rows, sum }]
    })
    await dropMoveTables(this.#to.db, this.#to.dialect)
    return this.#result(tables, earlierFailures)
  }

  async #rehearse(limits: TargetLimits, findings: readonly CommandFinding[]): Promise<MoveResult> {
    const rows = await this.#check(limits)
    const earlierFailures = findings.filter(({ outcome }) => outcome === 'failed')
    return { ...this.#result([], earlierFailures), moved: false, rows }
  }

  #result(tables: readonly ProvenTable[], earlierFailures: readonly CommandFinding[]): MoveResult {
    return {
      moved: true,
      ...this.#places,
      tables,
      rows: tables.reduce((total, { rows }) => total + rows, 0),
      notCopied: this.#tables.map(({ table }) => table).filter((table) => this.#options.processTables.has(table)),
      earlierFailures,
    }
  }

  /** Checks that the target is empty, or that it is the target of this move. */
  async #assertTarget(marker: MoveMarker | undefined, targetMarker: MoveMarker | undefined): Promise<void> {
    const { source, target } = this.#places
    if (marker !== undefined && (marker.state !== 'moving' || marker.place !== target)) {
      const code = marker.state === 'moving' ? 'PLINTH_DATABASE_MOVING' : 'PLINTH_DATABASE_MOVE_UNFINISHED'
      throw databaseError(code, { place: source, other: marker.place, at: new Date(marker.changedAt).toISOString() })
    }
    if (targetMarker !== undefined && targetMarker.moveId === marker?.moveId) return
    // A process that was killed may have left the tables of a move without a marker.
    const isEmptyMove = (name: string) => targetMarker === undefined && moveTableNames.includes(name)
    const names = [...(await tableNamesOf(this.#to))].filter((name) => !isEmptyMove(name)).sort()
    if (names.length === 0) return
    const reason =
      targetMarker === undefined
        ? `it is not empty: it contains ${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more tables` : ''}`
        : `it belongs to a move from ${targetMarker.place} that did not end or was cancelled`
    throw databaseError('PLINTH_DATABASE_MOVE_TARGET', { place: target, reason })
  }

  /** Throws if another process has reserved numbers for ids, which every running process does. */
  async #assertUnused(): Promise<void> {
    const { node } = await this.#from.db
      .withTables<IdSourceTables>()
      .selectFrom('database_id_node')
      .select((q) => q.fn.countAll().as('node'))
      .where('reserved_until', '>', reservationTime(this.#options.clock.now()))
      .executeTakeFirstOrThrow()
    if (Number(node) === 0) return
    throw this.#inUse(`${Number(node)} running process(es) of the product`)
  }

  #inUse(reason: string, cause?: unknown) {
    return databaseError('PLINTH_DATABASE_MOVE_IN_USE', { place: this.#places.source, reason }, cause)
  }

  /** Checks all values of the source, and returns the number of rows. */
  async #check(limits: TargetLimits): Promise<number> {
    const { signal } = this.#options
    const problems = [...(await checkSqlite(this.#from))]
    let rows = 0
    for (const table of this.#copied) {
      const onRows = (count: number) => {
        rows += count
        this.#report(`Checking ${table.table}: ${rows} rows in total`)
      }
      problems.push(...(await checkTable(this.#from, table, limits, { signal, onRows })))
    }
    if (problems.length > 0) throw sourceError(this.#places.source, problems)
    this.#say(`Checked ${rows} rows of ${this.#copied.length} tables`)
    return rows
  }

  get #copied(): readonly StoredTable[] {
    return this.#tables.filter(({ table }) => !this.#options.processTables.has(table))
  }

  /** Creates the tables of the target with the change sets, and removes the rows that these have inserted. */
  async #prepare(moveId: string): Promise<void> {
    const { db, dialect } = this.#to
    const { changeSets: plugins, clock, signal } = this.#options
    this.#say('Creating the tables')
    await createMoveTables(db, dialect)
    await writeMarker(db, this.#marker(moveId, 'preparing'))
    const ids = new IdSource(() => db.withTables<IdSourceTables>(), clock, randomUUID())
    const newId = () => ids.next()
    await new Migrator({ db, dialect, plugins, clock, newId, beforeData: () => ids.claim() }).migrate({ signal })
    await ids.release()
    await assertCollations(this.#to, this.#tables, this.#places.target)
    await db.transaction().execute(async (transaction) => {
      for (const { table } of this.#tables.toReversed()) await transaction.deleteFrom(table).execute()
      await writeMarker(transaction, this.#marker(moveId, 'copying'))
    })
  }

  async #copy(fence: WriteFence): Promise<void> {
    const done = await readProgress(this.#to.db)
    const { signal } = this.#options
    for (const [place, table] of this.#copied.entries()) {
      const { lastKey = null, rows: earlier = 0, isComplete = false } = done.get(table.table) ?? {}
      if (isComplete) continue
      let [rows, last] = [earlier, lastKey]
      const after = lastKey === null ? undefined : (JSON.parse(lastKey, bytesOf) as StoredRow)
      for await (const page of readRows(this.#from, table, { after, signal })) {
        rows += page.length
        last = JSON.stringify(keyOf(page.at(-1) ?? [], table))
        const progress = { table: table.table, lastKey: last, rows, isComplete: false, sum: null }
        await this.#to.db.transaction().execute(async (db) => {
          await insertStoredRows({ ...this.#to, db }, table, page)
          await writeProgress(db, progress)
        })
        if (this.#report(`Copying ${table.table} (table ${place + 1} of ${this.#copied.length}): ${rows} rows`)) {
          await fence.assertHeld()
        }
      }
      const complete = { table: table.table, lastKey: last, rows, isComplete: true, sum: null }
      await this.#to.db.transaction().execute((db) => writeProgress(db, complete))
    }
    this.#say(`Copied ${this.#copied.length} tables`)
  }

  /** Reads all rows of both databases again with new connections, and compares them. */
  #prove(moveId: string): Promise<void> {
    const { source, target, signal } = this.#options
    return withDatabase(source, (from) =>
      withDatabase(target, async (to) => {
        const copied = await readProgress(to.db)
        const proven: ProvenTable[] = []
        const differences: RowDifference[] = []
        for (const table of this.#copied) {
          let read = 0
          const onRows = (count: number) => {
            read += count
            this.#report(`Comparing ${table.table}: ${read} rows`)
          }
          const result = await proveTable(from, to, table, copied.get(table.table)?.rows ?? 0, { signal, onRows })
          if ('proven' in result) proven.push(result.proven)
          else differences.push(...result.differences)
        }
        if (differences.length > 0) throw this.#proofError(differences)
        await to.db.transaction().execute(async (db) => {
          for (const one of proven) await writeProgress(db, { ...one, lastKey: null, isComplete: true })
          await writeMarker(db, this.#marker(moveId, 'proven'))
        })
        this.#say(`All rows of ${proven.length} tables are equal`)
      }),
    )
  }

  #proofError(differences: readonly RowDifference[]) {
    const count = new Set(differences.map(({ table }) => table)).size
    const { source: place, target: other } = this.#places
    const error = databaseError('PLINTH_DATABASE_MOVE_PROOF', {
      place,
      other,
      count,
      differences: linesOf(differences.map(differenceText)),
    })
    return Object.assign(error, { problems: differences })
  }

  /** Runs the checks of the product on the target. Returns the checks that also failed on the source. */
  async #examine(moveId: string, before: readonly CommandFinding[]): Promise<readonly CommandFinding[]> {
    this.#say('Checking the product on the target')
    const findings = await movingNow.run(moveId, () => this.#options.examine('target'))
    const failedBefore = new Set(before.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check))
    const failed = findings.filter(({ outcome }) => outcome === 'failed')
    const problems = failed.filter(({ check }) => !failedBefore.has(check))
    if (problems.length === 0) return failed
    const error = databaseError('PLINTH_DATABASE_MOVE_CHECKS', {
      place: this.#places.target,
      count: problems.length,
      checks: linesOf(problems.map(({ check, detail }) => `${check}: ${detail}`)),
    })
    throw Object.assign(error, { problems })
  }

  /** Each marker contains the location of the other database. */
  #marker(moveId: string, state: MoveMarker['state']): MoveMarker {
    const isOfSource = state === 'moving' || state === 'moved'
    const place = isOfSource ? this.#places.target : this.#places.source
    return { moveId, state, place, changedAt: Math.floor(this.#options.clock.now()) }
  }

  #say(text: string): void {
    this.#reportedAt = performance.now()
    this.#options.onProgress(text)
  }

  /** Shows the progress from time to time. Returns true if the text was shown. */
  #report(text: string): boolean {
    if (performance.now() - this.#reportedAt < progressMs) return false
    this.#say(text)
    return true
  }
}

/** Restores bytes that were written as JSON. */
const bytesOf = (_: string, value: unknown) =>
  Object(value).type === 'Buffer' ? Buffer.from(Object(value).data) : value

/** @throws PlinthError `PLINTH_DATABASE_MOVE_TARGET` if the server does not store UTF-8 */
async function targetLimits({ db, dialect }: StoredDatabase, place: string): Promise<TargetLimits> {
  const read = async <Row>(sql: string) => (await db.executeQuery<Row>(CompiledQuery.raw(sql))).rows[0]
  if (dialect === 'postgresql') {
    const encoding = await read<{ server_encoding: string }>('show server_encoding')
    if (encoding?.server_encoding !== 'UTF8') {
      const reason = `its encoding is ${encoding?.server_encoding}, not UTF8`
      throw databaseError('PLINTH_DATABASE_MOVE_TARGET', { place, reason })
    }
  }
  if (dialect === 'sqlite' || dialect === 'postgresql') return { dialect }
  const packet = await read<{ bytes: unknown }>('select @@max_allowed_packet as bytes')
  return { dialect, maxStatementBytes: Number(packet?.bytes) }
}

/** Collations that distinguish case, accents and trailing spaces. With another one, a unique index rejects rows. */
const exactCollations: ReadonlySet<string> = new Set(['utf8mb4_nopad_bin', 'utf8mb4_0900_bin'])

async function assertCollations({ db, dialect }: StoredDatabase, tables: readonly StoredTable[], place: string) {
  if (dialect !== 'mysql' && dialect !== 'mariadb') return
  const sql = `select table_name as t, column_name as c, collation_name as collation from information_schema.columns
     where table_schema = database() and collation_name is not null`
  const { rows } = await db.executeQuery<{ t: string; c: string; collation: string }>(CompiledQuery.raw(sql))
  const exact = new Set(rows.filter(({ collation }) => exactCollations.has(collation)).map(({ t, c }) => `${t}.${c}`))
  const wrong = tables.flatMap(({ table, columns }) =>
    columns
      .filter(({ kind }) => kind === 'text' || kind === 'uint256')
      .map(({ name }) => `${table}.${name}`)
      .filter((column) => !exact.has(column)),
  )
  if (wrong.length === 0) return
  const reason = `columns do not distinguish all texts, because a change set sets another collation: ${wrong.join(', ')}`
  throw databaseError('PLINTH_DATABASE_MOVE_TARGET', { place, reason })
}
