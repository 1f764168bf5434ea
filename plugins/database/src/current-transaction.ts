import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { DeadlockException, LockWaitTimeoutException, TransactionContext } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { ControlledTransaction } from 'kysely'
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

/** What one transaction of `Database.transactional` knows about itself. */
export interface TransactionScope {
  readonly transaction: ControlledTransaction<unknown>
  /** Made when it is asked for: work that only runs statements has none. */
  readonly em: SqlEntityManager
  /** Hooks for after the commit. */
  readonly hooks: (() => void | Promise<void>)[]
  /** False when it was committed or rolled back. */
  open: boolean
  /** Aborts when the work has taken too long. */
  readonly aborter: AbortController
  /** Lets its limit go, once it is over. */
  end: () => void
  /** What a nested call threw. */
  failure?: unknown
  /** Why it was given up while its work went on: what that work asks for now fails with it. */
  overdue?: Error
}

/** Knows in which transaction of one database the calling code runs. */
export class CurrentTransaction {
  /** Name of MikroORM's context: keeps two databases of one process apart. */
  readonly contextName = randomUUID()
  readonly #scopes = new AsyncLocalStorage<TransactionScope>()

  run<T>(scope: TransactionScope, work: () => T): T {
    return this.#scopes.run(scope, work)
  }

  /**
   * The transaction of `Database.transactional` around the calling code, while it is open.
   *
   * @throws what ended a transaction whose work goes on all the same: outside it, that work would do half of what it means
   */
  get scope(): TransactionScope | undefined {
    const scope = this.#scopes.getStore()
    if (scope?.overdue !== undefined) throw scope.overdue
    return scope?.open ? scope : undefined
  }

  /**
   * The entity manager of the transaction, or savepoint, in which the calling code runs. Code that was started inside a
   * transaction and outlives it is in none.
   */
  get entityManager(): SqlEntityManager | undefined {
    const { scope } = this
    const innermost = TransactionContext.getEntityManager(this.contextName) as SqlEntityManager | undefined
    const em = innermost ?? scope?.em
    return em !== undefined && openTransactionOf(em) !== undefined ? em : undefined
  }

  /** The transaction, or savepoint, itself: for statements, which need no entity manager. */
  get transaction(): ControlledTransaction<unknown> | undefined {
    const { scope } = this
    const innermost = TransactionContext.getEntityManager(this.contextName) as SqlEntityManager | undefined
    if (innermost !== undefined) return openTransactionOf(innermost)
    const transaction = scope?.transaction
    return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
  }

  /** False inside a savepoint, which may fail alone. */
  get isOutermost(): boolean {
    const innermost = TransactionContext.getEntityManager(this.contextName)
    return innermost === undefined || innermost === this.scope?.em
  }

  /** True also where MikroORM hides the transaction, as its propagation `REQUIRES_NEW` does. */
  get isOpen(): boolean {
    return this.scope !== undefined || this.entityManager !== undefined
  }
}

/** The transaction of an entity manager, unless it is over. */
function openTransactionOf(em: SqlEntityManager): ControlledTransaction<unknown> | undefined {
  const transaction = em.getTransactionContext<ControlledTransaction<unknown>>()
  return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
}
