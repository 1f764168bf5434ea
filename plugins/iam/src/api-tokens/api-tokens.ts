import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import type { Clock, ConfigView } from '@plinth/kernel'
import { formatDuration } from '@plinth/kernel/host'
import type { PermissionEpoch } from '../access/authority.ts'
import { accessibleUsersCondition } from '../access/data-scope.ts'
import type { PermissionCatalogue } from '../access/permission-catalogue.ts'
import { assertHasAllGrantsOf, type RoleGrants, resolveGrants, type UserChangeGuard } from '../access/role-grants.ts'
import type { AuditTrail } from '../audit/audit.ts'
import type { keys } from '../config.ts'
import type { Actor, AudienceToken, DataScope, Operator } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Token, User } from '../entities.ts'
import { tokenHash } from '../sessions/sessions.ts'
import { ApiTokenRow } from './entities.ts'
import { assertNoApiToken } from './route-access.ts'
import { newApiToken, shownCharacters } from './token-format.ts'

/** Owners are notified this many milliseconds before the end of a token: seven days. */
export const noticeMs = 7 * 86_400_000

/** Maximum number of tokens that a user has per audience. */
const maxPerAudience = 50
const maxAudienceLifetimeMs = 86_400_000

/** Largest allowed value of `platform.iam.api-token.max-per-user`. */
export const maxTokensPerUser = 1_000

export interface ApiTokenContent {
  readonly name: string
  readonly expiresAt: Date
  readonly dataScope: DataScope
  /** Permission codes. Empty: no permissions. */
  readonly permissions: readonly string[]
}

interface ApiTokenDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly authority: PermissionEpoch
  readonly grants: RoleGrants
  readonly rules: UserChangeGuard
  readonly catalogue: PermissionCatalogue
  readonly audit: AuditTrail
  readonly config: ConfigView<typeof keys>
}

/** Creates, lists and revokes personal API tokens. `TokenCheck` checks them. */
export class ApiTokens {
  readonly #parts: ApiTokenDependencies

  constructor(parts: ApiTokenDependencies) {
    this.#parts = parts
  }

  /**
   * Creates a token of the caller. Its text is only returned here, because only its SHA-256 is stored.
   *
   * @throws BusinessError "403" `iam.session-required` if the caller has used an API token,
   *   `iam.beyond-own-authority` for permissions or a data scope that the caller does not have; "400"
   *   `iam.api-token-end-invalid` for an end in the past or after `platform.iam.api-token.max-lifetime`,
   *   `iam.permission-unknown`; "409" `iam.api-token-limit`; "404" `iam.user-unknown`; "401" `iam.token-invalid` if the
   *   session of the caller has just ended
   */
  create(content: ApiTokenContent, actor: Operator): Promise<{ readonly row: ApiTokenRow; readonly token: string }> {
    const { db, clock, authority, audit } = this.#parts
    const { userId, sessionId } = actor.principal
    assertNoApiToken(actor.principal)
    const { name, expiresAt, dataScope } = content
    const permissions = [...new Set(content.permissions)].sort()
    return db.transactional(async (em) => {
      await authority.lock()
      const owner = await em.findOne(User, { id: userId, enabled: true })
      if (owner === null) throw businessError('user-unknown')
      // Instances accept a session for half a second after its end. A token must not outlive what ended the session.
      if ((await em.count(Token, { id: sessionId, userId, revokedAt: null })) === 0)
        throw businessError('token-invalid')
      const now = clock.now()
      this.#assertEnd(expiresAt.getTime(), now)
      await this.#assertGrantable(em, userId, { permissions, dataScope })
      const limit = this.#parts.config.get('platform.iam.api-token.max-per-user')
      if ((await em.count(ApiTokenRow, { userId, ...this.activeCondition() })) >= limit)
        throw businessError('api-token-limit', { params: { limit }, data: { limit } })
      const noticeAt = expiresAt.getTime() - noticeMs
      const facts = { name, dataScope, permissions, expiresAt }
      const { row, token } = await this.#insert(em, {
        ...facts,
        userId,
        noticeAt: noticeAt > now ? new Date(noticeAt) : null,
        audience: null,
        sessionId: null,
      })
      const summary = { userId, ...facts, expiresAt: expiresAt.toISOString() }
      await audit.record({ ...actor, userAgent: '' }, 'api-token.create', row.id, summary)
      return { row, token }
    })
  }

  /** See `Identity.issueAudienceToken`. The session is checked when the token is used. */
  issueFor(
    userId: number,
    audience: string,
    { lifetimeMs, sessionId }: { readonly lifetimeMs: number; readonly sessionId?: number },
  ): Promise<AudienceToken> {
    const { db, clock } = this.#parts
    return db.transactional(async (em) => {
      if ((await em.count(User, { id: userId, enabled: true })) === 0) throw businessError('user-unknown')
      const expiresAt = new Date(clock.now() + Math.min(lifetimeMs, maxAudienceLifetimeMs))
      const { token } = await this.#insert(em, {
        userId,
        name: audience,
        audience,
        sessionId: sessionId ?? null,
        permissions: [],
        dataScope: 'self',
        expiresAt,
        noticeAt: null,
      })
      const older = { orderBy: { id: 'desc' }, offset: maxPerAudience, limit: maxPerAudience, fields: ['id'] } as const
      const replaced = await em.find(ApiTokenRow, { userId, audience }, older)
      if (replaced.length > 0) await em.nativeDelete(ApiTokenRow, { id: { $in: replaced.map(({ id }) => id) } })
      return { token, expiresAt: expiresAt.toISOString() }
    })
  }

  async #insert(
    em: SqlEntityManager,
    content: ApiTokenContent & Pick<ApiTokenRow, 'userId' | 'noticeAt' | 'audience' | 'sessionId'>,
  ): Promise<{ readonly row: ApiTokenRow; readonly token: string }> {
    const { db, clock } = this.#parts
    const token = newApiToken()
    const row = em.create(ApiTokenRow, {
      ...content,
      id: db.newId(),
      permissions: [...content.permissions],
      tokenHash: tokenHash(token),
      firstCharacters: shownCharacters(token),
      createdAt: new Date(clock.now()),
      lastUsedAt: null,
      lastUsedNetwork: null,
      revokedAt: null,
    })
    await em.flush()
    return { row, token }
  }

  /** Returns the active tokens of a user, newest first. There are at most `platform.iam.api-token.max-per-user`. */
  list(userId: number): Promise<ApiTokenRow[]> {
    const active = { userId, ...this.activeCondition() }
    return this.#parts.db.fork().find(ApiTokenRow, active, { orderBy: { id: 'desc' }, limit: maxTokensPerUser })
  }

  /**
   * Revokes a token. Does nothing if it is already revoked.
   *
   * @param owner user that the token must belong to; default: any user that the actor may access
   * @throws BusinessError "404" `iam.api-token-unknown`, also for a token of another user or out of scope; "403"
   *   `iam.beyond-own-authority` if its owner has more permissions than the actor, `iam.session-required`
   */
  revoke(id: number, actor: Actor, owner?: number): Promise<void> {
    const { db, authority, rules, audit } = this.#parts
    return db.transactional(async (em) => {
      await authority.lock()
      const ofOwner = owner === undefined ? {} : { userId: owner }
      const row = await em.findOne(ApiTokenRow, { id, audience: null, ...ofOwner })
      const user = row && (await em.findOne(User, { $and: [{ id: row.userId }, accessibleUsersCondition(actor)] }))
      if (row === null || user === null) throw businessError('api-token-unknown')
      await rules.assertMayActOn(em, user.id, actor)
      const statement = 'update iam_api_token set revoked_at = ? where id = ? and revoked_at is null'
      if ((await db.execute(statement, [new Date(this.#parts.clock.now()), id])) === 0) return
      await authority.changeOf(user.id)
      await audit.record(actor, 'api-token.revoke', id, { userId: user.id, name: row.name })
    })
  }

  /**
   * Returns the end of a token in milliseconds since the epoch: its own, or earlier if `platform.iam.api-token.max-lifetime`
   * has become shorter.
   */
  endOf({ createdAt, expiresAt }: Pick<ApiTokenRow, 'createdAt' | 'expiresAt'>): number {
    return Math.min(expiresAt.getTime(), createdAt.getTime() + this.#maxLifetimeMs)
  }

  /** Returns the condition for personal tokens that are not revoked and have not ended. */
  activeCondition() {
    const now = this.#parts.clock.now()
    const createdAt = { $gt: new Date(now - this.#maxLifetimeMs) }
    return { audience: null, revokedAt: null, expiresAt: { $gt: new Date(now) }, createdAt }
  }

  get #maxLifetimeMs(): number {
    return this.#parts.config.get('platform.iam.api-token.max-lifetime')
  }

  #assertEnd(end: number, now: number): void {
    const latest = now + this.#maxLifetimeMs
    if (end > now && end <= latest) return
    throw businessError('api-token-end-invalid', {
      params: { limit: formatDuration(this.#maxLifetimeMs) },
      data: { field: 'expiresAt', latest: new Date(latest).toISOString() },
    })
  }

  async #assertGrantable(
    em: SqlEntityManager,
    userId: number,
    requested: Pick<ApiTokenContent, 'permissions' | 'dataScope'>,
  ): Promise<void> {
    const { grants, catalogue } = this.#parts
    const unknown = requested.permissions.find((code) => !catalogue.has(code))
    if (unknown !== undefined) {
      throw businessError('permission-unknown', {
        params: { permission: unknown },
        data: { permission: unknown, field: 'permissions' },
      })
    }
    assertHasAllGrantsOf(await grants.ofUser(em, userId), resolveGrants([{ code: '', ...requested }]))
  }
}

/**
 * Revokes all API tokens of a user and returns their number, without recording a permission change, which the caller
 * must do. For a user who is disabled, and for one whose account another person may have used.
 */
export const revokeApiTokensOf = (
  { db, clock }: { readonly db: Database; readonly clock: Pick<Clock, 'now'> },
  userId: number,
): Promise<number> =>
  db.execute('update iam_api_token set revoked_at = ? where user_id = ? and revoked_at is null', [
    new Date(clock.now()),
    userId,
  ])
