import { errorCodeOf, isPlinthError } from '@plinth/kernel'
import { CompiledQuery, type Kysely } from 'kysely'
import { databaseError } from '../errors.ts'
import { dropMarkerTable, dropProgressTable, moveTableNames, progressTable } from './move-state.ts'
import type { StoredDatabase } from './stored-tables.ts'
import { familyOf, quoted } from './stored-values.ts'

interface FenceStatements {
  begin(tables: readonly string[]): readonly string[]
  readonly commit: string
  readonly rollback: string
}

/** Milliseconds to wait for a process that is writing. */
const lockWaitMs = 10_000

const fences: Readonly<Record<'sqlite' | 'postgresql' | 'mysql', FenceStatements>> = {
  sqlite: { begin: () => ['begin immediate'], commit: 'commit', rollback: 'rollback' },
  postgresql: {
    begin: (tables) => [
      'begin',
      `set local lock_timeout = ${lockWaitMs}`,
      `lock table ${[...tables, ...moveTableNames].join(', ')} in share row exclusive mode`,
    ],
    commit: 'commit',
    rollback: 'rollback',
  },
  mysql: {
    begin: (tables) => [
      `set session lock_wait_timeout = ${lockWaitMs / 1000}`,
      // Starting instances read the marker, so only the other table of the move is locked.
      `lock tables ${[...tables.map((table) => `${table} read`), `${progressTable} write`].join(', ')}`,
    ],
    commit: 'unlock tables',
    rollback: 'unlock tables',
  },
}

/** Error codes of a lock that another process holds. */
const busy = /^(?:SQLITE_BUSY.*|55P03|ER_LOCK_WAIT_TIMEOUT)$/

export interface WriteFence {
  /**
   * Reads and writes the marker: the connection that holds the lock. On MySQL and MariaDB it is another connection,
   * because the one with the lock can only use locked tables.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the tables of a move
  readonly db: Kysely<any>
  /** Throws if the connection that holds the lock was lost. */
  assertHeld(): Promise<void>
  /** Commits what was written with `db`, and releases the lock. */
  commit(): Promise<void>
  /** Removes the tables of the move from the locked database, and releases the lock. */
  endMove(): Promise<void>
}

/**
 * Keeps all other processes from writing to the tables during the work, and from continuing or cancelling the move.
 * Reading is allowed. A marker alone would not stop a process that is already connected. If the connection is lost,
 * `commit` fails. The tables of the move must exist.
 *
 * @throws PlinthError `PLINTH_DATABASE_MOVE_IN_USE` if another process is writing or moving the data
 */
export async function withWriteFence<T>(
  { db, dialect }: StoredDatabase,
  place: string,
  tables: readonly string[],
  work: (fence: WriteFence) => Promise<T>,
): Promise<T> {
  const { begin, commit, rollback } = fences[familyOf(dialect)]
  return db.connection().execute(async (connection) => {
    const run = (sql: string) => connection.executeQuery(CompiledQuery.raw(sql))
    let isHeld = false
    try {
      for (const sql of begin(tables.map((table) => quoted(table, dialect)))) await run(sql)
      isHeld = true
      const markerDb = familyOf(dialect) === 'mysql' ? db : connection
      const release = async () => {
        await run(commit)
        isHeld = false
      }
      return await work({
        assertHeld: async () => void (await run('select 1')),
        db: markerDb,
        commit: release,
        async endMove() {
          await dropMarkerTable(markerDb, dialect)
          await dropProgressTable(connection, dialect)
          await release()
        },
      })
    } catch (error) {
      if (isHeld || isPlinthError(error) || !busy.test(String(errorCodeOf(error)))) throw error
      throw databaseError(
        'PLINTH_DATABASE_MOVE_IN_USE',
        { place, reason: 'it is writing, or it is moving the data' },
        error,
      )
    } finally {
      // After a failed statement, or if the connection was lost, there is nothing to release.
      if (isHeld || dialect === 'postgresql') await run(rollback).catch(() => undefined)
    }
  })
}
