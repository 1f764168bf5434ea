import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Clock } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { PermissionEpoch } from '../access/authority.ts'
import { assertMayChangeOrg, resolveOrgOfNewUser, userInScope } from '../access/data-scope.ts'
import type { Grants, RoleGrants, UserChangeGuard } from '../access/role-grants.ts'
import { revokeApiTokensOf } from '../api-tokens/api-tokens.ts'
import { ApiTokenRow } from '../api-tokens/entities.ts'
import { assertNoApiToken } from '../api-tokens/route-access.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { type Actor, type NewUser, type RenameGuard, userDeleted } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ExternalIdentityRow, KnownDevice, PendingSignIn, Role, Token, User, UserRole } from '../entities.ts'
import type { PasswordHasher } from '../passwords/password-hash.ts'
import type { PasswordPolicy } from '../passwords/password-policy.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { normalizeOptionalEmail, normalizeOptionalMobile, normalizeUsername } from './account-names.ts'

/** New values of user fields. Absent fields stay unchanged. */
interface UserChange {
  readonly username?: string
  readonly email?: string | null
  readonly mobile?: string | null
  readonly enabled?: boolean
  readonly orgId?: number | null
  readonly roleIds?: readonly number[]
}

/** Proves that the caller knows the current password of the account. */
interface PasswordProof {
  readonly provenHash: string
  /** Session of the caller, which stays valid when the other sessions end. */
  readonly sessionId: number
}

/** Fields that affect neither sessions nor permissions. If only these fields change, cached permissions stay valid. */
const contactFields: ReadonlySet<string> = new Set(['email', 'mobile'])

export interface UserDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly authority: PermissionEpoch
  readonly grants: RoleGrants
  readonly rules: UserChangeGuard
  readonly hasher: PasswordHasher
  readonly passwords: PasswordPolicy
  readonly sessions: Sessions
  readonly audit: AuditTrail
  readonly renameGuards: ReadonlyMap<string, RenameGuard>
  readonly events: Events | undefined
}

/**
 * Changes users. Each change runs under the lock of `PermissionEpoch`, so no other change can happen between reading and
 * writing.
 */
export class Users {
  readonly #parts: UserDependencies

  constructor(parts: UserDependencies) {
    this.#parts = parts
  }

  /**
   * Creates a user. If no organisation is given and the actor has scope `org`, the user gets the organisation of the
   * actor.
   *
   * @throws BusinessError the errors of `Accounts.create`, "403" `iam.beyond-own-authority` for roles that grant more
   *   than the actor has, `iam.creation-out-of-scope`, `iam.organisation-out-of-scope`
   */
  async create(user: NewUser, actor: Actor): Promise<User> {
    const prepared = await this.prepare(user)
    return this.#transaction((em) => this.insert(em, prepared, actor))
  }

  /**
   * Normalises the names of a new user, checks the password against the policy and hashes it. Runs outside of a
   * transaction, because hashing is slow.
   */
  async prepare({ username, email, mobile, password, ...rest }: NewUser) {
    const forms = {
      ...normalizeUsername(username),
      ...normalizeOptionalEmail(email ?? null),
      mobile: normalizeOptionalMobile(mobile ?? null),
    }
    const { enabled = true, orgId, roleIds = [] } = rest
    if (password !== undefined) {
      const isOperator = isOperatorOf(await this.#parts.grants.ofRoles(this.#parts.db.fork(), roleIds))
      this.#parts.passwords.assertAllowed(password, { username: forms.username, isOperator })
    }
    const passwordHash = password === undefined ? null : await this.#parts.hasher.hash(password)
    return { forms, passwordHash, enabled, orgId, roleIds }
  }

  /** Inserts a user from the result of `prepare`. Must be called in a transaction under the lock of `PermissionEpoch`. */
  async insert(em: SqlEntityManager, user: Awaited<ReturnType<Users['prepare']>>, actor: Actor): Promise<User> {
    const { authority, rules, clock, audit } = this.#parts
    const { forms, roleIds, orgId: requested, ...rest } = user
    const orgId = resolveOrgOfNewUser(actor, requested)
    await this.#assertFree(em, forms, 0)
    await rules.assertMayGrant(em, roleIds, actor)
    const now = new Date(clock.now())
    const fixed = { id: await authority.newUserId(), version: 1, createdAt: now, updatedAt: now, lastLoginAt: null }
    const created = em.create(User, { ...fixed, ...forms, ...rest, orgId })
    await this.#assignRoles(em, created.id, [], roleIds)
    await em.flush()
    await audit.record(actor, 'user.create', created.id, { username: forms.username, roleIds: [...roleIds] })
    return created
  }

  /**
   * @param version version that the caller has read; if absent, the version is not checked
   * @throws BusinessError "404" `iam.user-unknown`, "409" `iam.version-conflict`, `iam.username-taken`,
   *   `iam.email-taken`, `iam.mobile-taken`, `iam.last-administrator`, "403" `iam.beyond-own-authority`,
   *   `iam.organisation-out-of-scope`, `iam.session-required` if an API token changes an e-mail address, "400" for an
   *   invalid value, or the error of a rename guard
   */
  update(id: number, change: UserChange, version: number | undefined, actor: Actor): Promise<User> {
    return this.#transaction(async (em) => {
      const user = await userInScope(em, id, actor)
      await this.#parts.rules.assertMayActOn(em, id, actor)
      // The reader of the mails of an account can recover the account.
      if (change.email !== undefined && 'principal' in actor) assertNoApiToken(actor.principal)
      await this.#parts.audit.assertVersion('user', user, version)
      const { email: previousEmail, emailKey: previousEmailKey } = user
      const fields = await this.#applyForms(em, user, change, actor)
      const isOwn = 'principal' in actor && actor.principal.userId === id
      if (isOwn && previousEmail && previousEmailKey && user.emailKey !== previousEmailKey) {
        const notice = { userId: id, username: user.username, previousEmail }
        await this.#parts.events?.publish(signInEmailReplaced, notice, { key: `user:${id}` })
      }
      if (change.orgId !== undefined && change.orgId !== (user.orgId ?? null)) {
        assertMayChangeOrg(actor, user, change.orgId)
        user.orgId = change.orgId
        fields.push('orgId')
      }
      if (change.enabled !== undefined && change.enabled !== user.enabled) {
        user.enabled = change.enabled
        fields.push(change.enabled ? 'enabled' : 'disabled')
        if (!change.enabled) await this.#withdraw(em, id)
      }
      if (change.roleIds !== undefined && (await this.#changeRoles(em, id, change.roleIds, actor))) fields.push('roles')
      if (fields.length === 0) return user
      if (fields.some((field) => !contactFields.has(field))) await this.#parts.authority.changeOf(id)
      incrementRowVersion(user, this.#parts.clock)
      await em.flush()
      const summary = { username: user.username, fields, ...(change.roleIds ? { roleIds: change.roleIds } : {}) }
      await this.#parts.audit.record(actor, 'user.update', id, summary)
      return user
    })
  }

  /**
   * Deletes a user with sessions, API tokens, roles and external identities.
   *
   * @throws BusinessError the errors of `update`
   */
  delete(id: number, version: number | undefined, actor: Actor): Promise<void> {
    return this.#transaction(async (em) => {
      const user = await userInScope(em, id, actor)
      await this.#parts.rules.assertMayActOn(em, id, actor)
      await this.#parts.audit.assertVersion('user', user, version)
      await this.#parts.rules.assertAdministratorLeft(em, id)
      await removeAccount(em, id, this.#parts)
      await this.#parts.audit.record(actor, 'user.delete', id, { username: user.username })
    })
  }

  /**
   * Sets a password and ends all other sessions of the user. If another person sets it, all API tokens of the user are
   * revoked too.
   *
   * @param proof proves that the actor knows the current password; required if actors change their own password
   * @throws BusinessError "400" `iam.password-refused`, "403" `iam.own-password` if the required proof is missing,
   *   "409" `iam.changed-meanwhile` if the password changed after the proof; also the errors of `update`
   */
  async setPassword(id: number, password: string, actor: Actor, proof?: PasswordProof): Promise<void> {
    const { passwords, hasher, rules, grants, sessions, audit, authority, db, clock } = this.#parts
    if (proof === undefined && 'principal' in actor && actor.principal.userId === id)
      throw businessError('own-password')
    const current = await userInScope(db.fork(), id, actor)
    const isOperator = isOperatorOf(await grants.ofUser(db.fork(), id))
    const field = proof === undefined ? 'password' : 'newPassword'
    passwords.assertAllowed(password, { username: current.username, field, isOperator })
    const passwordHash = await hasher.hash(password)
    await this.#transaction(async (em) => {
      const user = await userInScope(em, id, actor)
      await rules.assertMayActOn(em, id, actor)
      if (proof !== undefined && user.passwordHash !== proof.provenHash) throw businessError('changed-meanwhile')
      user.passwordHash = passwordHash
      incrementRowVersion(user, clock)
      await em.flush()
      const ended = await sessions.endAll(id, proof?.sessionId)
      const revoked = proof === undefined ? await revokeApiTokensOf(this.#parts, id) : 0
      if (ended + revoked > 0) await authority.changeOf(id)
      await audit.record(actor, 'user.password', id, { username: user.username, endedSessions: ended })
    })
  }

  /** @throws BusinessError the errors of `Accounts.confirmEmail` */
  confirmEmail(id: number, email: string, actor: Actor): Promise<void> {
    return this.#transaction(async (em) => {
      const user = await userInScope(em, id, actor)
      const { emailKey } = normalizeOptionalEmail(email)
      if (emailKey === null || emailKey !== normalizeOptionalEmail(user.email ?? null).emailKey)
        throw businessError('email-changed')
      if (emailKey === user.emailKey) return
      await this.#assertFree(em, { emailKey }, id)
      user.emailKey = emailKey
      incrementRowVersion(user, this.#parts.clock)
      await em.flush()
      await this.#parts.audit.record(actor, 'user.confirm-email', id, { username: user.username })
    })
  }

  /**
   * Returns true if the change replaces the e-mail address that the user signs in with. Returns false for an account
   * without a password.
   */
  async replacesSignInEmail(id: number, { email }: Pick<UserChange, 'email'>): Promise<boolean> {
    if (email === undefined) return false
    const user = await this.#parts.db.fork().findOne(User, id)
    if (user === null || user.passwordHash === null || user.emailKey === null) return false
    return normalizeOptionalEmail(email).emailKey !== user.emailKey
  }

  async #applyForms(
    em: SqlEntityManager,
    user: User,
    { username, email, mobile }: UserChange,
    actor: Actor,
  ): Promise<string[]> {
    const expected = {
      // An unchanged name is not checked, because it may have been valid only under earlier rules.
      ...(username === undefined || username === user.username ? {} : normalizeUsername(username)),
      ...(email === undefined ? {} : addressOf(user, email, actor)),
      ...(mobile === undefined ? {} : { mobile: normalizeOptionalMobile(mobile) }),
    }
    if (expected.username !== undefined && expected.username !== user.username) {
      for (const [, guard] of [...this.#parts.renameGuards].sort(([a], [b]) => (a < b ? -1 : 1))) {
        await guard.assertUsernameAllowed(user.id, expected.username, { isBound: isBoundIn(em) })
      }
    }
    await this.#assertFree(em, expected, user.id)
    const fields = (['username', 'email', 'mobile'] as const).filter(
      (name) =>
        expected[name] !== undefined &&
        (expected[name] !== (user[name] ?? null) ||
          (name === 'email' && expected.emailKey !== (user.emailKey ?? null))),
    )
    Object.assign(user, expected)
    return fields
  }

  async #assertFree(
    em: SqlEntityManager,
    forms: { usernameKey?: string; emailKey?: string | null; mobile?: string | null },
    own: number,
  ): Promise<void> {
    const isTaken = async (where: object) => (await em.count(User, { $and: [where, { id: { $ne: own } }] })) > 0
    const { usernameKey, emailKey, mobile } = forms
    if (usernameKey !== undefined && (await isTaken({ usernameKey }))) throw taken('username')
    if (emailKey && (await isTaken({ emailKey }))) throw taken('email')
    if (mobile && (await isTaken({ mobile }))) throw taken('mobile')
  }

  async #withdraw(em: SqlEntityManager, id: number): Promise<void> {
    await this.#parts.rules.assertAdministratorLeft(em, id)
    await this.#parts.sessions.endAll(id)
    await revokeApiTokensOf(this.#parts, id)
  }

  async #changeRoles(em: SqlEntityManager, id: number, expected: readonly number[], actor: Actor): Promise<boolean> {
    const held = (await em.find(UserRole, { userId: id })).map(({ roleId }) => roleId)
    const added = expected.filter((roleId) => !held.includes(roleId))
    const removed = held.filter((roleId) => !expected.includes(roleId))
    if (added.length + removed.length === 0) return false
    await this.#parts.rules.assertMayGrant(em, added, actor)
    if (removed.length > 0 && (await em.count(Role, { id: { $in: removed }, builtIn: true })) > 0) {
      await this.#parts.rules.assertAdministratorLeft(em, id)
    }
    await this.#assignRoles(em, id, removed, added)
    return true
  }

  async #assignRoles(em: SqlEntityManager, userId: number, removed: readonly number[], added: readonly number[]) {
    if (removed.length > 0) await em.nativeDelete(UserRole, { userId, roleId: { $in: [...removed] } })
    for (const roleId of new Set(added)) em.create(UserRole, { id: this.#parts.db.newId(), userId, roleId })
  }

  async #transaction<T>(work: (em: SqlEntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.#parts.db.transactional(async (em) => {
        await this.#parts.authority.lock()
        return work(em)
      })
    } catch (error) {
      // A unique constraint can only be violated here if the caller read rows in its transaction before it took the
      // lock.
      if (error instanceof UniqueConstraintViolationException) throw taken('username', error)
      throw error
    }
  }
}

/**
 * Deletes an account with its roles, sessions, API tokens and external identities. The caller must hold the lock of `PermissionEpoch` and
 * must have checked the rules of `UserChangeGuard`.
 */
export async function removeAccount(
  em: SqlEntityManager,
  id: number,
  { authority, events }: Pick<UserDependencies, 'authority' | 'events'>,
): Promise<void> {
  await authority.changeOf(id)
  await em.nativeDelete(UserRole, { userId: id })
  await em.nativeDelete(Token, { userId: id })
  await em.nativeDelete(PendingSignIn, { userId: id })
  await em.nativeDelete(KnownDevice, { userId: id })
  await em.nativeDelete(ApiTokenRow, { userId: id })
  await em.nativeDelete(ExternalIdentityRow, { userId: id })
  await em.nativeDelete(User, { id })
  await events?.publish(userDeleted, { userId: id }, { key: `user:${id}` })
}

export const isOperatorOf = ({ isSuperAdmin, permissions }: Grants) => isSuperAdmin || permissions.size > 0

const taken = (field: 'username' | 'email' | 'mobile', cause?: unknown) =>
  businessError(`${field}-taken`, { data: { field }, cause })

/**
 * Returns the stored and the folded form of a new e-mail address. Users can sign in with the folded form, so it is null
 * until a code proves that the address belongs to the user. An address that an administrator sets needs no proof.
 */
function addressOf(user: User, text: string | null, actor: Actor): ReturnType<typeof normalizeOptionalEmail> {
  const forms = normalizeOptionalEmail(text)
  const isOwn = 'principal' in actor && actor.principal.userId === user.id
  return isOwn && forms.emailKey !== user.emailKey ? { email: forms.email, emailKey: null } : forms
}

/** Increments the version of a changed row and sets its time of change. */
export function incrementRowVersion(row: { version: number; updatedAt: Date }, clock: Pick<Clock, 'now'>): void {
  row.version++
  row.updatedAt = new Date(clock.now())
}

const isBoundIn = (em: SqlEntityManager) => async (userId: number, provider: string, subject: string) =>
  (await em.count(ExternalIdentityRow, { userId, provider, subject })) > 0

/**
 * A user replaced the e-mail address that is used to sign in. Published in the transaction of the change with the key
 * `user:{userId}`.
 */
export const signInEmailReplaced = event(
  'iam.user.sign-in-email-replaced',
  Type.Object({ userId: Type.Integer({ minimum: 1 }), username: Type.String(), previousEmail: Type.String() }),
)

/**
 * Sends a mail to the previous address when a user replaces it, so that the owner notices a change by an attacker
 * (OWASP ASVS 2.2.3). Sends nothing if no mail driver is configured.
 */
export function notifyPreviousEmail(
  events: Pick<Events, 'on'>,
  mail: Mail,
  i18n: Pick<Translator, 'negotiate' | 'translate'>,
) {
  events.on(signInEmailReplaced, 'iam.email-notice', async ({ id, payload: { username, previousEmail } }) => {
    if (!mail.isReady) return
    const locale = i18n.negotiate(undefined)
    const text = (part: string) => i18n.translate(locale, `messages.iam.email-replaced.${part}`, { username }) ?? ''
    const message = { to: [previousEmail], subject: text('subject'), text: text('content'), locale }
    const { deliveries } = await mail.send(message, { idempotencyKey: `iam.email-notice:${id}` })
    const [{ outcome, errorMessage } = { outcome: 'unknown', errorMessage: undefined }] = deliveries
    if (outcome === 'deferred') throw new Error(errorMessage ?? 'the mail was deferred')
  })
}
