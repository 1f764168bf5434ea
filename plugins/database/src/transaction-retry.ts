import { setTimeout as pause } from 'node:timers/promises'
import { DeadlockException, LockWaitTimeoutException } from '@mikro-orm/core'
import { type DatabaseErrorCode, databaseError } from './errors.ts'

const tries = 5
const shortestWait = 5
const longestWait = 80

/**
 * SQLSTATE of PostgreSQL, error numbers of MySQL and MariaDB: it lost against another one and may win next time. 1615: a
 * table changed under a prepared statement while the server was executing it. The last one: the server did not execute a
 * statement because of how it was prepared; the next attempt does not prepare it.
 */
const conflicts = new Set<unknown>([
  '40001',
  '40P01',
  1205,
  1213,
  1020,
  1615,
  'PLINTH_DATABASE_NOT_PREPARED' satisfies DatabaseErrorCode,
])

export function isConflict(error: unknown): boolean {
  if (error instanceof DeadlockException || error instanceof LockWaitTimeoutException) return true
  const { code, errno } = error as { code?: unknown; errno?: unknown }
  return conflicts.has(code) || conflicts.has(errno) || String(code).startsWith('SQLITE_BUSY')
}

/**
 * Runs a whole transaction, or a statement outside one, again when it met a conflict, after 5 to 80 ms by chance. The wait is real time, not that of
 * the product's clock: it gives other transactions on a real server time to end, which a clock that a test holds still
 * cannot.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  wait: (ms: number) => Promise<unknown> = pause,
): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isConflict(error)) throw error
      if (count === tries) throw databaseError('PLINTH_DATABASE_TRANSACTION_GAVE_UP', { tries }, error)
      await wait(shortestWait + Math.random() * (longestWait - shortestWait))
    }
  }
}
