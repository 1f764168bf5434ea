import { AsyncLocalStorage } from 'node:async_hooks'
import { columnTypes, compilerFor, type Dialect, isMissingTable } from '@plinth/migrations'
import { CompiledQuery, type Kysely } from 'kysely'
import { databaseError } from '../errors.ts'

/**
 * Tables of a move. They are no change set, because they describe one database and exist only since its move. The
 * target has no other table when the move begins.
 */
const markerTable = 'database_move'
export const progressTable = 'database_move_progress'
export const moveTableNames: readonly string[] = [markerTable, progressTable]

/**
 * State of a move. Source: `moving` until the target is proven, then `moved`. Target: `preparing` while its tables are
 * created, `copying`, then `proven`.
 */
export type MoveState = 'moving' | 'moved' | 'preparing' | 'copying' | 'proven'

/** The row that marks a database as source or target of a move. */
export interface MoveMarker {
  /** The same id in both databases. */
  readonly moveId: string
  readonly state: MoveState
  /** Location of the other database, without credentials. */
  readonly place: string
  /** Time of the last change in milliseconds since the epoch. */
  readonly changedAt: number
}

/** Resume point of a table in the target. It is written in the transaction of the rows. */
export interface TableProgress {
  readonly table: string
  /** Key of the last copied row as JSON; null before the first row. */
  readonly lastKey: string | null
  readonly rows: number
  readonly isComplete: boolean
  /** Sum of the hashes of all rows as hexadecimal digits; null until the rows are proven to be equal. */
  readonly sum: string | null
}

interface MoveTables {
  database_move: { id: number; move_id: string; state: string; place: string; changed_at: number }
  database_move_progress: {
    table_name: string
    last_key: string | null
    copied: number
    complete: number
    row_sum: string | null
  }
}
// biome-ignore lint/suspicious/noExplicitAny: other tables are described elsewhere
type AnyDb = Kysely<any>
const moveDb = (db: AnyDb) => db as Kysely<MoveTables>

/** Creates the tables if they are missing. */
export async function createMoveTables(db: AnyDb, dialect: Dialect): Promise<void> {
  const { schema } = compilerFor(dialect)
  const type = columnTypes(dialect)
  const tables = [
    schema
      .createTable(markerTable)
      .ifNotExists()
      .addColumn('id', type.integer, (c) => c.primaryKey())
      .addColumn('move_id', type.text(36), (c) => c.notNull())
      .addColumn('state', type.text(16), (c) => c.notNull())
      .addColumn('place', type.longText, (c) => c.notNull())
      .addColumn('changed_at', type.bigint, (c) => c.notNull()),
    schema
      .createTable(progressTable)
      .ifNotExists()
      .addColumn('table_name', type.text(128), (c) => c.primaryKey())
      .addColumn('last_key', type.longText)
      .addColumn('copied', type.bigint, (c) => c.notNull())
      .addColumn('complete', type.integer, (c) => c.notNull())
      .addColumn('row_sum', type.text(64)),
  ]
  for (const table of tables) await db.executeQuery(table.compile())
}

const dropTable = (table: string) => async (db: AnyDb, dialect: Dialect) => {
  await db.executeQuery(compilerFor(dialect).schema.dropTable(table).ifExists().compile())
}
/** Removes the marker. A database without it takes part in no move. */
export const dropMarkerTable = dropTable(markerTable)
export const dropProgressTable = dropTable(progressTable)

/** Removes the tables of a target. The marker is the last one, so that a crash in between leaves the marker. */
export async function dropMoveTables(db: AnyDb, dialect: Dialect): Promise<void> {
  await dropProgressTable(db, dialect)
  await dropMarkerTable(db, dialect)
}

/** Looks for the marker table without an error in the log of the server. */
const existsQueries: Readonly<Record<Dialect, string>> = {
  sqlite: `select 1 as found from sqlite_master where name = '${markerTable}'`,
  postgresql: `select 1 as found where to_regclass('${markerTable}') is not null`,
  mysql: `select 1 as found from information_schema.tables where table_schema = database() and table_name = '${markerTable}'`,
  mariadb: `select 1 as found from information_schema.tables where table_schema = database() and table_name = '${markerTable}'`,
}

/** Returns the marker of a database; `undefined` if it takes part in no move. */
export async function readMarker(db: AnyDb, dialect: Dialect): Promise<MoveMarker | undefined> {
  const { rows } = await db.executeQuery(CompiledQuery.raw(existsQueries[dialect]))
  if (rows.length === 0) return undefined
  const row = await unlessMissing(() => moveDb(db).selectFrom(markerTable).selectAll().executeTakeFirst(), undefined)
  if (row === undefined) return undefined
  const { move_id: moveId, state, place, changed_at: changedAt } = row
  return { moveId, state: state as MoveState, place, changedAt: Number(changedAt) }
}

async function unlessMissing<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (isMissingTable(error)) return otherwise
    throw error
  }
}

const markerRow = ({ moveId, state, place, changedAt }: MoveMarker) => ({
  move_id: moveId,
  state,
  place,
  changed_at: changedAt,
})

/** Inserts the marker. Fails if there is one. The tables must exist. */
export async function insertMarker(db: AnyDb, marker: MoveMarker): Promise<void> {
  await moveDb(db)
    .insertInto(markerTable)
    .values({ id: 1, ...markerRow(marker) })
    .execute()
}

/** Writes the marker. The tables must exist. */
export async function writeMarker(db: AnyDb, marker: MoveMarker): Promise<void> {
  const written = moveDb(db).updateTable(markerTable).set(markerRow(marker)).where('id', '=', 1)
  const { numUpdatedRows } = await written.executeTakeFirst()
  // MySQL does not count rows that have the same values already.
  const exists = await moveDb(db).selectFrom(markerTable).select('id').executeTakeFirst()
  if (numUpdatedRows === 0n && exists === undefined) await insertMarker(db, marker)
}

/** Returns the resume points by table. There are none if a process was killed while it removed the tables of a move. */
export async function readProgress(db: AnyDb): Promise<ReadonlyMap<string, TableProgress>> {
  const rows = await unlessMissing(() => moveDb(db).selectFrom(progressTable).selectAll().execute(), [])
  return new Map(
    rows.map((row) => [
      row.table_name,
      {
        table: row.table_name,
        lastKey: row.last_key,
        rows: Number(row.copied),
        isComplete: Number(row.complete) === 1,
        sum: row.row_sum,
      },
    ]),
  )
}

/** Replaces the resume point of a table. Call it in a transaction, so that a crash does not leave the table without one. */
export async function writeProgress(
  db: AnyDb,
  { table, lastKey, rows, isComplete, sum }: TableProgress,
): Promise<void> {
  const row = { last_key: lastKey, copied: rows, complete: Number(isComplete), row_sum: sum }
  await moveDb(db).deleteFrom(progressTable).where('table_name', '=', table).execute()
  await moveDb(db)
    .insertInto(progressTable)
    .values({ table_name: table, ...row })
    .execute()
}

/** Id of the move whose checks are running. They may use both databases. */
export const movingNow = new AsyncLocalStorage<string>()

/**
 * Rejects a database that takes part in a move, because its rows are not, or not yet, those of the product.
 *
 * @throws PlinthError `PLINTH_DATABASE_MOVING`, `PLINTH_DATABASE_MOVED`, `PLINTH_DATABASE_MOVE_UNFINISHED`
 */
export async function assertNotMoved(db: AnyDb, dialect: Dialect, place: string): Promise<void> {
  const marker = await readMarker(db, dialect)
  if (marker === undefined || marker.moveId === movingNow.getStore()) return
  const code = marker.state === 'moved' || marker.state === 'moving' ? sourceCodes[marker.state] : undefined
  throw databaseError(code ?? 'PLINTH_DATABASE_MOVE_UNFINISHED', {
    place,
    other: marker.place,
    at: new Date(marker.changedAt).toISOString(),
  })
}

const sourceCodes = { moving: 'PLINTH_DATABASE_MOVING', moved: 'PLINTH_DATABASE_MOVED' } as const
