import { errorCodeOf, isPlinthError } from '@plinth/kernel'
import { CompiledQuery, type Kysely } from 'kysely'
import { databaseError } from '../errors.ts'
import { moveTableNames } from './move-state.ts'
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
      ...(tables.length === 0 ? [] : [`lock table ${tables.join(', ')} in share row exclusive mode`]),
    ],
    commit: 'commit',
    rollback: 'rollback',
  },
  mysql: {
    begin: (tables) => [
      `set session lock_wait_timeout = ${lockWaitMs / 1000}`,
      `lock tables ${[...tables.map((table) => `${table} read`), ...moveTableNames.map((table) => `${table} write`)].join(', ')}`,
    ],
    commit: 'unlock tables',
    rollback: 'unlock tables',
  },
}

/** Error codes of a lock that another process holds. */
const busy = /^(?:SQLITE_BUSY.*|55P03|ER_LOCK_WAIT_TIMEOUT)$/

export interface WriteFence {
  /** The connection that holds the lock. On MySQL and MariaDB, only it can use the tables of the move. */
  // biome-ignore lint/suspicious/noExplicitAny: the tables of a move
  readonly db: Kysely<any>
  /** Throws if the connection that holds the lock was lost. */
  assertHeld(): Promise<void>
  /** Commits what was written with `db`, and releases the lock. */
  commit(): Promise<void>
}

/**
 * Keeps all other processes from writing to the tables during the work, and other moves from starting. Reading is allowed. A marker alone would not
 * stop a process that is already connected. If the connection is lost, `commit` fails.
 *
 * @throws PlinthError `PLINTH_DATABASE_MOVE_IN_USE` if another process is writing
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
      return await work({
        assertHeld: async () => void (await run('select 1')),
        db: connection,
        async commit() {
          await run(commit)
          isHeld = false
        },
      })
    } catch (error) {
      if (isHeld || isPlinthError(error) || !busy.test(String(errorCodeOf(error)))) throw error
      throw databaseError('PLINTH_DATABASE_MOVE_IN_USE', { place, reason: 'it is writing' }, error)
    } finally {
      // After a failed statement, or if the connection was lost, there is nothing to release.
      if (isHeld || dialect === 'postgresql') await run(rollback).catch(() => undefined)
    }
  })
}
