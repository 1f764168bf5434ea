import { AsyncLocalStorage } from 'node:async_hooks'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { DeadlockException, LockWaitTimeoutException, TransactionContext } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { ControlledTransaction } from 'kysely'
import { type DatabaseErrorCode, databaseError } from './errors.ts'

const tries = 5
const minWaitMs = 5
const maxWaitMs = 80

/**
 * SQLSTATE of PostgreSQL and error numbers of MySQL and MariaDB for a transaction that lost against another one and may
 * succeed next time. 1615: a table changed under a prepared statement while the server executed it. The last one: the
 * server did not execute a statement because of how it was prepared. The next attempt does not prepare it.
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
  const { code, errno }: { readonly code?: unknown; readonly errno?: unknown } = Object(error)
  return conflicts.has(code) || conflicts.has(errno) || String(code).startsWith('SQLITE_BUSY')
}

/**
 * Repeats a whole transaction, or a statement outside one, after a conflict and a random wait of 5 to 80 ms. The wait
 * uses real time, not the product's clock: other transactions on a real server need it, and a stopped clock of a test
 * would not provide it.
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
      await wait(minWaitMs + Math.random() * (maxWaitMs - minWaitMs))
    }
  }
}

/** State of one transaction of `Database.transactional`. */
export interface TransactionScope {
  readonly transaction: ControlledTransaction<unknown>
  /** Created at the first access: work that only runs statements has none. */
  readonly em: SqlEntityManager
  /** Hooks for after the commit. */
  readonly hooks: (() => void | Promise<void>)[]
  /** False after the commit or rollback. */
  open: boolean
  /** Aborts when the work exceeds its limit. */
  readonly aborter: AbortController
  /** Ends its time limit, after the transaction. */
  end: () => void
  /** Error of a nested call. */
  failure?: unknown
  /** Reason for which it was cancelled while its work continues. Further calls of that work fail with it. */
  overdue?: Error
}

/** Finds the transaction of one database in which the calling code runs. */
export class CurrentTransaction {
  /** Name of MikroORM's context, which separates two databases of one process. */
  readonly contextName = randomUUID()
  readonly #scopes = new AsyncLocalStorage<TransactionScope>()

  run<T>(scope: TransactionScope, work: () => T): T {
    return this.#scopes.run(scope, work)
  }

  /**
   * Returns the open transaction of `Database.transactional` around the calling code.
   *
   * @throws the reason of a transaction that was cancelled while its work continues: outside the transaction, that
   *   work would take effect in part
   */
  get scope(): TransactionScope | undefined {
    const scope = this.#scopes.getStore()
    if (scope?.overdue !== undefined) throw scope.overdue
    return scope?.open ? scope : undefined
  }

  /**
   * Returns the entity manager of the transaction or savepoint in which the calling code runs. Code that was started
   * inside a transaction and runs after it gets `undefined`.
   */
  get entityManager(): SqlEntityManager | undefined {
    const { scope } = this
    const em = this.#innermost ?? scope?.em
    return em !== undefined && openTransactionOf(em) !== undefined ? em : undefined
  }

  /** The transaction or savepoint itself, for statements, which need no entity manager. */
  get transaction(): ControlledTransaction<unknown> | undefined {
    const { scope } = this
    const innermost = this.#innermost
    if (innermost !== undefined) return openTransactionOf(innermost)
    const transaction = scope?.transaction
    return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
  }

  /** The entity manager that MikroORM uses for the innermost transaction or savepoint. */
  get #innermost(): SqlEntityManager | undefined {
    return TransactionContext.getEntityManager(this.contextName) as SqlEntityManager | undefined
  }

  /** False inside a savepoint, which may fail alone. */
  get isOutermost(): boolean {
    const innermost = this.#innermost
    return innermost === undefined || innermost === this.scope?.em
  }

  /** True even if MikroORM hides the transaction, as its propagation `REQUIRES_NEW` does. */
  get isOpen(): boolean {
    return this.scope !== undefined || this.entityManager !== undefined
  }
}

/** Returns the transaction of an entity manager if it is open. */
function openTransactionOf(em: SqlEntityManager): ControlledTransaction<unknown> | undefined {
  const transaction = em.getTransactionContext<ControlledTransaction<unknown>>()
  return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
}
