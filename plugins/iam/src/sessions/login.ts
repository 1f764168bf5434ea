import { hash } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import { type Clock, type ConfigView, isBusinessError } from '@plinth/kernel'
import type { ConsumeRequest, RateLimiter } from '@plinth/rate-limit'
import type { PermissionEpoch } from '../access/authority.ts'
import { foldIdentifier, loginLookupOf } from '../accounts/account-names.ts'
import { stateOf } from '../accounts/account-state.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { keys } from '../config.ts'
import {
  type GuardedAttempt,
  type LoginAttempt,
  type LoginGuard,
  type PendingAccount,
  RejectedProofError,
  type SecondFactorRequired,
  type Session,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { User } from '../entities.ts'
import type { PasswordHasher } from '../passwords/password-hash.ts'
import { accountLimit } from './account-limit.ts'
import type { FoundSignIn, PendingSignIns } from './pending-sign-ins.ts'
import type { FactorRequirement, SecondFactors } from './second-factors.ts'
import type { ProvenSession, Sessions } from './sessions.ts'

/** Login methods that check a password. They share one limit, because separate limits would allow more guesses. */
const limitedMethods: ReadonlySet<string> = new Set(['password', 'password-change', 'email-change', 'password-proof'])

/** Reasons of a rejection after a correct first factor. For the guards, such an attempt is a success. */
const provenReasons: ReadonlySet<string> = new Set(['iam.second-factor-impossible', 'iam.second-factor-unavailable'])

/**
 * Returns the same key for the user name and the e-mail address of an account. For an unknown name, returns the same
 * key for all spellings.
 */
const accountKey = (userId: number | null, identifier: string) =>
  hash('sha256', userId === null ? `name ${foldIdentifier(identifier)}` : `user ${userId}`)

/**
 * Limits attempts per account and per client address (document 1 of the specification, "Login limiter"). If one limit
 * rejects an attempt, the attempt does not count for the other limit. If the rate limiter fails, the attempt is
 * rejected. Each attempt counts before the password is checked, so that parallel guesses do not pass. A successful
 * attempt is then returned.
 */
export function loginLimiter(limiter: RateLimiter, config: ConfigView<typeof keys>): LoginGuard {
  const root = 'platform.iam.auth.login.rate-limit'
  const limitsOf = ({ method, identifier, userId, clientIp }: GuardedAttempt): readonly ConsumeRequest[] => {
    if (!limitedMethods.has(method)) return []
    if (!config.get(`${root}.enabled`) || !config.get(`${root}.password.enabled`)) return []
    const prefix = `${config.get(`${root}.key-prefix`)}:password`
    return [
      {
        key: `${prefix}:account:${accountKey(userId, identifier)}`,
        ...accountLimit(config),
        failurePolicy: 'closed',
      },
      {
        key: `${prefix}:ip:${limiter.addressKey(clientIp)}`,
        maxAttempts: config.get(`${root}.password.ip-max-attempts`),
        windowMs: config.get(`${root}.password.ip-window`),
        failurePolicy: 'closed',
      },
    ]
  }
  return {
    beforeAttempt: async (attempt) => void (await limiter.assertAllAllowed(limitsOf(attempt))),
    afterAttempt: async (attempt, { success }) => {
      if (success) await limiter.refund(limitsOf(attempt))
    },
  }
}

interface LoginDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly authority: PermissionEpoch
  readonly hasher: PasswordHasher
  readonly sessions: Sessions
  readonly secondFactors: SecondFactors
  readonly pendingSignIns: PendingSignIns
  readonly audit: AuditTrail
  readonly limiter: LoginGuard | undefined
  readonly loginGuards: ReadonlyMap<string, LoginGuard>
}

/** Result of a first factor: a session, or a sign-in that waits for a second factor. */
type SignIn = Session | SecondFactorRequired

/** Checks a password or a proof and opens a session. Every attempt is recorded in the login audit. */
export class Login {
  readonly #parts: LoginDependencies

  constructor(parts: LoginDependencies) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "401" `iam.login-failed`, which is the same for an unknown name and a wrong password; "403"
   *   `iam.user-disabled` after a correct password; "503" `iam.busy`; the error of a guard; the errors of a second factor
   *   of `Identity.openSession`
   */
  async withPassword(password: string, attempt: LoginAttempt): Promise<Session> {
    const key = loginLookupOf(attempt.identifier)
    const signIn = await this.#audited(attempt, key, async (user) => {
      const stored = user?.passwordHash ?? null
      const { matches, outdated } = await this.#parts.hasher.verify(stored, password)
      if (user === null || stored === null || !matches) throw businessError('login-failed')
      const renewed = outdated ? await this.#parts.hasher.hash(password) : stored
      return this.#open(user, attempt, { stored, renewed })
    })
    return sessionOf(signIn)
  }

  /** Opens a session for a user whom another plugin has identified. See `Identity.openSession`. */
  async withProof(userId: number, attempt: LoginAttempt): Promise<Session> {
    const signIn = await this.#audited(attempt, { id: userId }, async (user) => {
      if (user === null) throw businessError('user-unknown')
      return this.#open(user, attempt)
    })
    return sessionOf(signIn)
  }

  /** Opens a session with a proof that is not checked yet. See `Identity.openProvenSession`. */
  async withUncheckedProof(
    account: number | null,
    attempt: LoginAttempt,
    prove: () => Promise<number>,
  ): Promise<Session> {
    const signIn = await this.#audited(attempt, account === null ? undefined : { id: account }, async () => {
      const proven = await prove()
      const user = await this.#parts.db.fork().findOne(User, proven)
      if (user === null) throw businessError('user-unknown')
      return this.#open(user, attempt)
    })
    return sessionOf(signIn)
  }

  /** See `Identity.findPendingSignIn`. */
  async findPending(pendingToken: string): Promise<PendingAccount> {
    const { id, userId, username } = await this.#parts.pendingSignIns.find(pendingToken)
    return { id, userId, username }
  }

  /** See `Identity.completeSignIn`. */
  async completeSignIn(
    pendingToken: string,
    method: string,
    attempt: LoginAttempt,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session> {
    const pending = await this.#parts.pendingSignIns.takeAttempt(pendingToken)
    await this.#audited(attempt, { id: pending.userId }, () => prove(pending.userId))
    return this.#complete(pending, method, attempt)
  }

  /** See `Identity.setUpSecondFactor`. */
  async setUpSecondFactor(
    pendingToken: string,
    method: string,
    attempt: LoginAttempt,
    prove: (account: PendingAccount) => Promise<() => Promise<void>>,
  ): Promise<Session> {
    const { pendingSignIns, secondFactors, authority } = this.#parts
    const pending = await pendingSignIns.takeAttempt(pendingToken)
    const store = await this.#audited(attempt, { id: pending.userId }, () => prove(pending))
    return this.#complete(pending, method, attempt, async () => {
      await authority.lock()
      // The password alone must not add a factor to an account that has one.
      if (await secondFactors.isAnySetUp(pending.userId)) throw businessError('second-factor-set-up')
      await store()
    })
  }

  /**
   * Opens the session of a sign-in with both factors, unless the account has changed since the first one. Its method is
   * that of the first factor.
   */
  async #complete(
    pending: FoundSignIn,
    method: string,
    attempt: LoginAttempt,
    before: () => Promise<void> = async () => {},
  ): Promise<Session> {
    const { db, clock, sessions, pendingSignIns, secondFactors, audit } = this.#parts
    const { userId, row } = pending
    return db.transactional(async (em) => {
      await before()
      await pendingSignIns.complete(pending)
      const now = new Date(clock.now())
      const met = await db.execute('update iam_user set last_login_at = ? where id = ? and enabled = ?', [
        now,
        userId,
        true,
      ])
      const user = met === 0 ? null : await em.findOne(User, userId)
      if (user === null || stateOf(user) !== row.state) throw businessError('pending-sign-in-invalid')
      // A code for a lost device is no proof that the user took part in a sign-in without a proof.
      const isProof = row.isProof || !secondFactors.isRecovery(method)
      const first = { ...attempt, method: row.method, isProof, secondFactor: method }
      const session = await sessions.open(userId, first, method)
      await audit.recordLogin(attempt, { userId })
      return session
    })
  }

  /**
   * Checks the password of a signed-in user, with the same guards and audit as a login.
   *
   * @throws BusinessError the errors of `withPassword`
   * @returns the stored hash that the password matched
   */
  async confirmPassword(userId: number, password: string, attempt: LoginAttempt): Promise<string> {
    return this.#audited(attempt, { id: userId }, (user) => this.#assertPassword(user, password, 'currentPassword'))
  }

  /**
   * Checks the password of the user of a session again, and renews the token of the session.
   *
   * @throws BusinessError "400" `iam.password-wrong`, and the errors of `proveAgain`
   */
  proveByPassword(session: ProvenSession, password: string, attempt: LoginAttempt): Promise<Session> {
    return this.#proveAgain(session, 'password', attempt, async (user) => {
      await this.#assertPassword(user, password, 'password')
    })
  }

  /** Renews the token of a session after another proof. See `Identity.proveAgain`. */
  proveAgain(
    session: ProvenSession,
    method: string,
    attempt: LoginAttempt,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session> {
    return this.#proveAgain(session, method, attempt, () => prove(session.userId))
  }

  async #proveAgain(
    session: ProvenSession,
    method: string,
    attempt: LoginAttempt,
    prove: (user: User | null) => Promise<void>,
  ): Promise<Session> {
    const { db, sessions, secondFactors, audit } = this.#parts
    await this.#audited(attempt, { id: session.userId }, prove)
    // The proof is correct. If another request has renewed the session meanwhile, this is not a failed attempt.
    return db.transactional(async () => {
      const renewed = await sessions.renew(session, method, secondFactors.isSecondFactor(method) ? method : null)
      await audit.recordLogin(attempt, { userId: session.userId })
      return renewed
    })
  }

  /** @returns the stored hash that the password matched */
  async #assertPassword(user: User | null, password: string, field: string): Promise<string> {
    const stored = user?.passwordHash ?? null
    const { matches } = await this.#parts.hasher.verify(stored, password)
    if (stored === null || !matches) throw businessError('password-wrong', { data: { field } })
    return stored
  }

  /**
   * Opens a session, or begins a sign-in that waits for a second factor. The first statement only updates the user if
   * nothing has changed since the password or proof was checked.
   */
  async #open(user: User, attempt: LoginAttempt, hash?: { stored: string; renewed: string }): Promise<SignIn> {
    const { db, clock, sessions, secondFactors, audit, loginGuards } = this.#parts
    if (!user.enabled) throw businessError('user-disabled')
    for (const guard of loginGuards.values()) await guard.beforeSession?.({ ...attempt, userId: user.id })
    const required = attempt.secondFactor === undefined ? await secondFactors.requirementFor(user.id) : undefined
    return db.transactional(async (em) => {
      const seenAt = required === undefined ? new Date(clock.now()) : null
      const met = hash
        ? await db.execute(
            'update iam_user set last_login_at = coalesce(?, last_login_at), password_hash = ? where id = ? and enabled = ? and password_hash = ?',
            [seenAt, hash.renewed, user.id, true, hash.stored],
          )
        : await db.execute(
            'update iam_user set last_login_at = coalesce(?, last_login_at) where id = ? and enabled = ?',
            [seenAt, user.id, true],
          )
      if (met === 0) throw businessError('changed-meanwhile')
      const signIn =
        required === undefined
          ? await sessions.open(user.id, attempt)
          : await this.#wait(em, user.id, attempt, required)
      await audit.recordLogin(attempt, { userId: user.id })
      return signIn
    })
  }

  async #wait(
    em: SqlEntityManager,
    userId: number,
    attempt: LoginAttempt,
    required: FactorRequirement,
  ): Promise<SecondFactorRequired> {
    const user = await em.findOneOrFail(User, userId)
    const { token, expiresAt } = await this.#parts.pendingSignIns.begin(em, user, attempt)
    return { pendingToken: token, expiresAt: expiresAt.toISOString(), ...required }
  }

  /**
   * Runs a login attempt with its guards and its audit. Looks up the account before the guards run, because the guards
   * count attempts per account and the audit of a rejected attempt contains the account.
   */
  async #audited<T>(
    origin: LoginAttempt,
    key: NonNullable<ReturnType<typeof loginLookupOf>> | { readonly id: number } | undefined,
    work: (user: User | null) => Promise<T>,
  ): Promise<T> {
    const { db, audit, limiter, loginGuards } = this.#parts
    const user = key === undefined ? null : await db.fork().findOne(User, key)
    const attempt = { ...origin, userId: user?.id ?? null }
    const others = [...loginGuards].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, guard]) => guard)
    const inOrder = limiter === undefined ? others : [limiter, ...others]
    try {
      for (const guard of inOrder) await guard.beforeAttempt(attempt)
      const result = await work(user)
      for (const guard of inOrder) await guard.afterAttempt?.(attempt, { success: true })
      return result
    } catch (error) {
      if (!isBusinessError(error)) throw error
      const { cause } = error
      const reason = cause instanceof RejectedProofError ? cause.reason : (error.reason ?? error.code)
      const failure = { reason, message: error.message }
      await audit.recordLogin(attempt, { userId: attempt.userId, failure })
      const success = provenReasons.has(error.reason ?? '')
      for (const guard of inOrder) await guard.afterAttempt?.(attempt, { success })
      throw error
    }
  }
}

/**
 * Returns the session of a sign-in. The first factor has already counted as a success when this throws.
 *
 * @throws BusinessError "401" `iam.second-factor-required`
 */
function sessionOf(signIn: SignIn): Session {
  if ('accessToken' in signIn) return signIn
  throw businessError('second-factor-required', {
    text: signIn.setUp ? 'second-factor-set-up-required' : 'second-factor-required',
    data: { ...signIn },
  })
}
