import { hash, randomBytes } from 'node:crypto'
import type { Database } from '@plinth/database'
import { type Clock, type ConfigView, fitTextToColumn } from '@plinth/kernel'
import type { PermissionEpoch } from '../access/authority.ts'
import { accessibleUsersCondition, userInScope } from '../access/data-scope.ts'
import type { UserChangeGuard } from '../access/role-grants.ts'
import { signInPolicyOf } from '../access/sign-in-policy.ts'
import { type AuditTrail, truncateOrigin } from '../audit/audit.ts'
import type { keys } from '../config.ts'
import type { Actor, LoginAttempt, Session } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { PendingSignIn, Token, User } from '../entities.ts'
import { deviceNameOf } from './device-name.ts'
import { endOfSession, isSessionAlive } from './session-limits.ts'

/** Prefix of all tokens, by which people and secret scanners recognise them. */
const prefix = 'plinth_'
const secretBytes = 32
const form = /^plinth_[A-Za-z0-9_-]{43}$/

/** Creates a token from 256 random bits. */
export const newAccessToken = () => prefix + randomBytes(secretBytes).toString('base64url')

/** Returns the stored form of a token. It identifies the token but cannot be used to sign in. */
export const tokenHash = (token: string) => hash('sha256', token, 'hex')

/** Returns false if the text cannot be a token. This saves a database query. */
export const isTokenShaped = (text: string) => form.test(text)

/** Maximum number of listed sessions of a user. Ended sessions are purged, so more are very unusual. */
const maxShown = 200

const maxMethodLength = 32

/** A session whose user has proven the identity again. */
export interface ProvenSession {
  readonly userId: number
  readonly sessionId: number
  /** Access token of the session, which the proof replaces. */
  readonly oldToken: string
}

/** A session that has not ended. */
export interface ActiveSession {
  readonly session: Token
  /** Time at which it ends, also by the rules of the roles of its user. */
  readonly endsAt: Date
}

interface SessionDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly authority: PermissionEpoch
  readonly rules: UserChangeGuard
  readonly audit: AuditTrail
  readonly config: ConfigView<typeof keys>
}

export class Sessions {
  readonly #parts: SessionDependencies

  constructor(parts: SessionDependencies) {
    this.#parts = parts
  }

  /**
   * Opens a session. Must be called in the transaction that checked that the user may sign in.
   *
   * @param provenBy method of the last proof of identity; default: the method of the attempt
   */
  async open(userId: number, attempt: LoginAttempt, provenBy = attempt.method): Promise<Session> {
    const now = this.#parts.clock.now()
    const expiresAt = new Date(now + this.#parts.config.get('platform.iam.token.lifetime'))
    const accessToken = newAccessToken()
    const { clientIp, userAgent } = truncateOrigin(attempt)
    const em = this.#parts.db.fork()
    const session = em.create(Token, {
      id: this.#parts.db.newId(),
      userId,
      tokenHash: tokenHash(accessToken),
      method: attempt.method,
      clientIp,
      userAgent,
      createdAt: new Date(now),
      expiresAt,
      lastSeenAt: new Date(now),
      revokedAt: null,
      provenAt: attempt.isProof === false ? null : new Date(now),
      provenBy: attempt.isProof === false ? null : fitTextToColumn(provenBy, maxMethodLength),
      secondFactor: attempt.secondFactor === undefined ? null : fitTextToColumn(attempt.secondFactor, maxMethodLength),
      deviceName: deviceNameOf(attempt.userAgent) ?? null,
    })
    await em.flush()
    await this.#endOldest(userId)
    return this.#opened(session, accessToken)
  }

  /**
   * Gives a session a new token after a proof of identity (ASVS 7.2.4). The session keeps its id and its expiry time.
   * Must be called in a transaction. Of several proofs with the same old token, only the first succeeds.
   *
   * @param secondFactor the method, if it is a second factor. The session then counts as signed in with it.
   * @throws BusinessError "401" `iam.token-invalid` if the session has ended, or no longer has the old token
   */
  async renew(
    { sessionId, userId, oldToken }: ProvenSession,
    method: string,
    secondFactor: string | null,
  ): Promise<Session> {
    const { db, clock, authority } = this.#parts
    await authority.lock()
    const now = new Date(clock.now())
    const accessToken = newAccessToken()
    const renewed = await db.execute(
      'update iam_token set token_hash = ?, proven_at = ?, proven_by = ?, second_factor = coalesce(?, second_factor), last_seen_at = ? where id = ? and token_hash = ? and revoked_at is null and expires_at > ?',
      [
        tokenHash(accessToken),
        now,
        fitTextToColumn(method, maxMethodLength),
        secondFactor,
        now,
        sessionId,
        tokenHash(oldToken),
        now,
      ],
    )
    const session = renewed === 0 ? null : await db.fork().findOne(Token, sessionId)
    if (session === null) throw businessError('token-invalid')
    // All instances then read the tokens of this user again, so that the old one is rejected.
    await authority.changeOf(userId)
    return this.#opened(session, accessToken)
  }

  async #opened(session: Token, accessToken: string): Promise<Session> {
    const end = endOfSession(session, await signInPolicyOf(this.#parts.db.fork(), session.userId))
    const [expiresAt, maxExpiresAt] = [new Date(end).toISOString(), session.expiresAt.toISOString()]
    return { accessToken, tokenType: 'Bearer', expiresAt, maxExpiresAt }
  }

  /** Ends the oldest sessions if a user has more than `platform.iam.token.max-per-user`. */
  async #endOldest(userId: number): Promise<void> {
    const { db, config, clock, authority } = this.#parts
    const now = new Date(clock.now())
    const alive = 'user_id = ? and revoked_at is null and expires_at > ?'
    // This is a separate query, because MariaDB does not allow a subquery on the table that is updated.
    const [oldestKept] = await db.query<{ id: number }>(
      `select id from iam_token where ${alive} order by id desc limit 1 offset ${config.get('platform.iam.token.max-per-user') - 1}`,
      [userId, now],
    )
    if (oldestKept === undefined) return
    const ended = await db.execute(`update iam_token set revoked_at = ? where ${alive} and id < ?`, [
      now,
      userId,
      now,
      oldestKept.id,
    ])
    if (ended > 0) await authority.changeOf(userId)
  }

  /**
   * Returns the active sessions of a user, newest first, and the time at which each of them ends.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority` if the user has more permissions
   *   than the actor
   */
  async list(userId: number, actor: Actor): Promise<readonly ActiveSession[]> {
    const { db, config, rules, clock } = this.#parts
    const em = db.fork()
    await userInScope(em, userId, actor)
    await rules.assertMayActOn(em, userId, actor)
    const policy = await signInPolicyOf(em, userId)
    const now = clock.now()
    const stored = await em.find(
      Token,
      { userId, revokedAt: null, expiresAt: { $gt: new Date(now) } },
      { orderBy: { id: 'desc' }, limit: maxShown },
    )
    return stored
      .filter((session) => isSessionAlive(session, policy, { now, config }))
      .map((session) => ({ session, endsAt: new Date(endOfSession(session, policy)) }))
  }

  /**
   * Gives one of the own sessions of the actor another device name.
   *
   * @param name at most `maxDeviceNameLength` characters
   * @throws BusinessError "404" `iam.session-unknown`, also for a session that has ended and for that of another user
   */
  async rename(sessionId: number, userId: number, name: string): Promise<void> {
    const { db, clock } = this.#parts
    const renamed = await db.execute(
      'update iam_token set device_name = ? where id = ? and user_id = ? and revoked_at is null and expires_at > ?',
      [name, sessionId, userId, new Date(clock.now())],
    )
    if (renamed === 0) throw businessError('session-unknown')
  }

  /**
   * Ends one session. Does nothing if it has already ended.
   *
   * @param owner user that the session must belong to; default: any user that the actor may access
   * @throws BusinessError "404" `iam.session-unknown`, also for a session of another user or out of scope; "403"
   *   `iam.beyond-own-authority`
   */
  revoke(sessionId: number, actor: Actor, action: string, owner?: number): Promise<void> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      const session = await em.findOne(Token, { id: sessionId, ...(owner === undefined ? {} : { userId: owner }) })
      const user =
        session && (await em.findOne(User, { $and: [{ id: session.userId }, accessibleUsersCondition(actor)] }))
      if (user === null) throw businessError('session-unknown')
      await this.#parts.rules.assertMayActOn(em, user.id, actor)
      const ended = await this.#parts.db.execute(
        'update iam_token set revoked_at = ? where id = ? and revoked_at is null',
        [new Date(this.#parts.clock.now()), sessionId],
      )
      if (ended === 0) return
      await this.#parts.authority.changeOf(user.id)
      await this.#parts.audit.record(actor, action, sessionId, { userId: user.id })
    })
  }

  /**
   * Ends all sessions of a user except `except`. Returns the number of ended sessions.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`
   */
  revokeAll(userId: number, actor: Actor, except = 0): Promise<number> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      await userInScope(em, userId, actor)
      await this.#parts.rules.assertMayActOn(em, userId, actor)
      const ended = await this.endAll(userId, except)
      if (ended === 0) return 0
      await this.#parts.authority.changeOf(userId)
      await this.#parts.audit.record(actor, 'session.revoke-all', userId, { count: ended }, 'user')
      return ended
    })
  }

  /** See `Identity.endSessions`. */
  end(userId: number, sessionIds: readonly number[], actor: Actor): Promise<number> {
    const { db, authority, audit, clock } = this.#parts
    return db.transactional(async (em) => {
      await authority.lock()
      await em.nativeDelete(PendingSignIn, { userId })
      const where = { id: { $in: [...sessionIds] }, userId, revokedAt: null }
      const ended = await em.nativeUpdate(Token, where, { revokedAt: new Date(clock.now()) })
      if (ended === 0) return 0
      await authority.changeOf(userId)
      await audit.record(actor, 'session.revoke-all', userId, { count: ended }, 'user')
      return ended
    })
  }

  /** See `Identity.sessionsOpenedBy`. */
  async openedBy(userId: number, method: string): Promise<readonly number[]> {
    const { db, clock } = this.#parts
    const where = { userId, method, revokedAt: null, expiresAt: { $gt: new Date(clock.now()) } }
    return (await db.fork().find(Token, where, { fields: ['id'] })).map(({ id }) => id)
  }

  /**
   * Ends all sessions of a user except `except`, without recording a permission change, which the caller must do. Also
   * ends idle sessions, because a longer idle timeout would make them valid again, sign-ins that wait for a second
   * factor, and audience tokens of all sessions.
   */
  async endAll(userId: number, except = 0): Promise<number> {
    const now = new Date(this.#parts.clock.now())
    await this.#parts.db.execute('delete from iam_pending_sign_in where user_id = ?', [userId])
    const revoked = await this.#parts.db.execute(
      'update iam_api_token set revoked_at = ? where user_id = ? and audience is not null and revoked_at is null',
      [now, userId],
    )
    // The caller may end no session.
    if (revoked > 0) await this.#parts.authority.changeOf(userId)
    return this.#parts.db.execute(
      'update iam_token set revoked_at = ? where user_id = ? and id <> ? and revoked_at is null and expires_at > ?',
      [now, userId, except, now],
    )
  }
}
