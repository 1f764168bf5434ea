import { randomBytes } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import { type Clock, fitTextToColumn } from '@plinth/kernel'
import { stateOf } from '../accounts/account-state.ts'
import type { LoginAttempt, PendingAccount } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { PendingSignIn, User } from '../entities.ts'
import { tokenHash } from './sessions.ts'

/** Differs from the prefixes of sessions and API tokens, so that no other code accepts the token. */
const prefix = 'plinthpending_'
const secretBytes = 32
const form = /^plinthpending_[A-Za-z0-9_-]{43}$/

/** Time in milliseconds within which a sign-in must be completed: five minutes. */
const lifetimeMs = 300_000
/** Number of second factors that can be tried for one sign-in. */
const maxFailures = 5

interface PendingDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
}

/** A pending sign-in and the user that it belongs to. */
export interface FoundSignIn extends PendingAccount {
  readonly row: PendingSignIn
}

/** Sign-ins whose first factor is proven. They are shared by all instances, and no session exists yet. */
export class PendingSignIns {
  readonly #parts: PendingDependencies

  constructor(parts: PendingDependencies) {
    this.#parts = parts
  }

  /** Must be called in the transaction that checked the first factor. */
  async begin(em: SqlEntityManager, user: User, attempt: LoginAttempt): Promise<{ token: string; expiresAt: Date }> {
    const now = this.#parts.clock.now()
    const token = prefix + randomBytes(secretBytes).toString('base64url')
    const expiresAt = new Date(now + lifetimeMs)
    em.create(PendingSignIn, {
      id: this.#parts.db.newId(),
      userId: user.id,
      tokenHash: tokenHash(token),
      method: fitTextToColumn(attempt.method, 32),
      state: stateOf(user),
      isProof: attempt.isProof !== false,
      failures: 0,
      createdAt: new Date(now),
      expiresAt,
    })
    await em.flush()
    return { token, expiresAt }
  }

  /** @throws BusinessError "401" `iam.pending-sign-in-invalid` */
  async find(token: string): Promise<FoundSignIn> {
    const em = this.#parts.db.fork()
    const row = form.test(token) ? await em.findOne(PendingSignIn, { tokenHash: tokenHash(token) }) : null
    const user = row === null ? null : await em.findOne(User, { id: row.userId, enabled: true })
    const isOpen = row !== null && row.failures < maxFailures && row.expiresAt.getTime() > this.#parts.clock.now()
    if (!isOpen || user === null || stateOf(user) !== row.state) throw businessError('pending-sign-in-invalid')
    return { id: row.id, userId: user.id, username: user.username, row }
  }

  /**
   * Uses up one attempt before the second factor is checked, so that parallel guesses do not pass.
   *
   * @throws BusinessError "401" `iam.pending-sign-in-invalid`
   */
  async takeAttempt(token: string): Promise<FoundSignIn> {
    const found = await this.find(token)
    const taken = await this.#parts.db.execute(
      'update iam_pending_sign_in set failures = failures + 1 where id = ? and failures < ?',
      [found.id, maxFailures],
    )
    if (taken === 0) throw businessError('pending-sign-in-invalid')
    return found
  }

  /**
   * Removes a sign-in that is now complete. Must be called in the transaction that opens the session. Of several callers,
   * only one succeeds.
   *
   * @throws BusinessError "401" `iam.pending-sign-in-invalid`
   */
  async complete({ id }: PendingAccount): Promise<void> {
    const removed = await this.#parts.db.execute('delete from iam_pending_sign_in where id = ?', [id])
    if (removed === 0) throw businessError('pending-sign-in-invalid')
  }
}
