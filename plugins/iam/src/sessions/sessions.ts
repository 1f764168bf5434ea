import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { Authority } from '../access/authority.ts'
import { scopeOf, userInScope } from '../access/data-scope.ts'
import type { UserRules } from '../accounts/user-rules.ts'
import { type AuditTrail, storedOrigin } from '../audit/audit.ts'
import type { Actor, LoginAttempt, Session } from '../contract.ts'
import { Token, User } from '../entities.ts'
import { refusal } from '../failures.ts'
import { newAccessToken, tokenHash } from './access-token.ts'

/** Sessions that are shown of one user. Those that ended are removed, so more would take a flood of logins. */
const mostShown = 200

/** The tokens of users: opening, listing, ending. */
export class Sessions {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #authority: Authority
  readonly #rules: UserRules
  readonly #audit: AuditTrail
  readonly #settings: { readonly lifetimeMs: () => number; readonly idleTimeoutMs: () => number }

  constructor(
    parts: {
      readonly db: Database
      readonly clock: Clock
      readonly authority: Authority
      readonly rules: UserRules
      readonly audit: AuditTrail
    },
    settings: { readonly lifetimeMs: () => number; readonly idleTimeoutMs: () => number },
  ) {
    this.#db = parts.db
    this.#clock = parts.clock
    this.#authority = parts.authority
    this.#rules = parts.rules
    this.#audit = parts.audit
    this.#settings = settings
  }

  /** Inside the transaction that has made sure that the user may log in. */
  async open(userId: number, attempt: LoginAttempt): Promise<Session> {
    const now = this.#clock.now()
    const expiresAt = new Date(now + this.#settings.lifetimeMs())
    const accessToken = newAccessToken()
    const { clientIp, userAgent } = storedOrigin(attempt)
    const em = this.#db.fork()
    em.create(Token, {
      id: this.#db.newId(),
      userId,
      tokenHash: tokenHash(accessToken),
      method: attempt.method,
      clientIp,
      userAgent,
      createdAt: new Date(now),
      expiresAt,
      lastSeenAt: new Date(now),
      revokedAt: null,
    })
    await em.flush()
    return { accessToken, tokenType: 'Bearer', expiresAt: expiresAt.toISOString() }
  }

  /**
   * Sessions of a user that are alive, the newest first: where somebody logs in from is nobody's to read who holds less.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`
   */
  async list(userId: number, actor: Actor): Promise<Token[]> {
    const em = this.#db.fork()
    await userInScope(em, userId, actor)
    await this.#rules.assertMayActOn(em, userId, actor)
    const now = this.#clock.now()
    const alive = {
      userId,
      revokedAt: null,
      expiresAt: { $gt: new Date(now) },
      lastSeenAt: { $gt: new Date(now - this.#settings.idleTimeoutMs()) },
    }
    return em.find(Token, alive, { orderBy: { id: 'desc' }, limit: mostShown })
  }

  /**
   * Ends one session. Ending it again changes nothing.
   *
   * @param owner whose session it must be; absent: of anybody whom the actor reaches
   * @throws BusinessError "404" `iam.session-unknown`, also for a session of somebody else or out of scope; "403"
   *   `iam.beyond-own-authority`
   */
  revoke(sessionId: number, actor: Actor, action: string, owner?: number): Promise<void> {
    return this.#db.transactional(async (em) => {
      await this.#authority.lock()
      const session = await em.findOne(Token, { id: sessionId, ...(owner === undefined ? {} : { userId: owner }) })
      const user = session && (await em.findOne(User, { $and: [{ id: session.userId }, scopeOf(actor)] }))
      if (user === null) throw refusal('session-unknown')
      await this.#rules.assertMayActOn(em, user.id, actor)
      const ended = await this.#db.execute('update iam_token set revoked_at = ? where id = ? and revoked_at is null', [
        new Date(this.#clock.now()),
        sessionId,
      ])
      if (ended === 0) return
      await this.#authority.changeOf(user.id)
      await this.#audit.record(actor, action, sessionId, { userId: user.id })
    })
  }

  /**
   * Ends all sessions of a user but one and answers how many.
   *
   * @throws BusinessError "404" `iam.user-unknown`, "403" `iam.beyond-own-authority`
   */
  revokeAll(userId: number, actor: Actor, except = 0): Promise<number> {
    return this.#db.transactional(async (em) => {
      await this.#authority.lock()
      await userInScope(em, userId, actor)
      await this.#rules.assertMayActOn(em, userId, actor)
      const ended = await this.endAll(userId, except)
      if (ended === 0) return 0
      await this.#authority.changeOf(userId)
      await this.#audit.record(actor, 'session.revoke-all', userId, { count: ended }, 'user')
      return ended
    })
  }

  /**
   * The statement alone, for changes that have announced themselves. Idle sessions are ended too: a longer idle timeout
   * would revive them.
   */
  endAll(userId: number, except = 0): Promise<number> {
    const now = new Date(this.#clock.now())
    return this.#db.execute(
      'update iam_token set revoked_at = ? where user_id = ? and id <> ? and revoked_at is null and expires_at > ?',
      [now, userId, except, now],
    )
  }
}
