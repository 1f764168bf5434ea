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
 * Conflicts after which the transaction is repeated: SQLSTATE of PostgreSQL, error numbers of MySQL and MariaDB. 1615:
 * a table changed while a prepared statement was used. `PLINTH_DATABASE_NOT_PREPARED`: the next attempt does not
 * prepare the statement.
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
 * Repeats a transaction or statement after a conflict, with a random wait of 5 to 80 ms. The wait uses real time,
 * because a stopped test clock would never end it.
 */
export async function retryOnConflict<T>(
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

/** State of one call of `Database.transactional`. */
export interface TransactionScope {
  readonly transaction: ControlledTransaction<unknown>
  /** Entity manager of the transaction, which is created when it is first used. */
  readonly em: SqlEntityManager
  /** Functions that are called after the commit. */
  readonly hooks: (() => void | Promise<void>)[]
  open: boolean
  /** Aborts when the transaction exceeds its time limit. */
  readonly aborter: AbortController
  /** Stops the timer of the time limit. */
  end: () => void
  /** Error of a nested call, because of which the transaction is rolled back. */
  failure?: unknown
  /**
   * Reason why the transaction was cancelled while its work still runs. Further database calls of the work fail with
   * this error.
   */
  overdue?: Error
}

/** Finds the transaction of one database in which the calling code runs. */
export class CurrentTransaction {
  /** MikroORM context, which separates two databases in one process. */
  readonly contextName = randomUUID()
  readonly #scopes = new AsyncLocalStorage<TransactionScope>()

  run<T>(scope: TransactionScope, work: () => T): T {
    return this.#scopes.run(scope, work)
  }

  /**
   * @throws the reason for which the transaction was cancelled. Otherwise the rest of its work would run outside a
   *   transaction.
   */
  get scope(): TransactionScope | undefined {
    const scope = this.#scopes.getStore()
    if (scope?.overdue !== undefined) throw scope.overdue
    return scope?.open ? scope : undefined
  }

  /** Entity manager of the innermost transaction or savepoint; `undefined` after the transaction has ended. */
  get entityManager(): SqlEntityManager | undefined {
    const { scope } = this
    const em = this.#innermost ?? scope?.em
    return em !== undefined && openTransactionOf(em) !== undefined ? em : undefined
  }

  /** Innermost transaction or savepoint, for statements without an entity manager. */
  get transaction(): ControlledTransaction<unknown> | undefined {
    const { scope } = this
    const innermost = this.#innermost
    if (innermost !== undefined) return openTransactionOf(innermost)
    const transaction = scope?.transaction
    return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
  }

  /** Entity manager of the innermost transaction according to MikroORM. */
  get #innermost(): SqlEntityManager | undefined {
    return TransactionContext.getEntityManager(this.contextName) as SqlEntityManager | undefined
  }

  /** False inside a savepoint, whose failure does not end the transaction. */
  get isOutermost(): boolean {
    const innermost = this.#innermost
    return innermost === undefined || innermost === this.scope?.em
  }

  /** True even if MikroORM hides the transaction, as with its propagation `REQUIRES_NEW`. */
  get isOpen(): boolean {
    return this.scope !== undefined || this.entityManager !== undefined
  }
}

function openTransactionOf(em: SqlEntityManager): ControlledTransaction<unknown> | undefined {
  const transaction = em.getTransactionContext<ControlledTransaction<unknown>>()
  return transaction === undefined || transaction.isCommitted || transaction.isRolledBack ? undefined : transaction
}
