import { randomBytes } from 'node:crypto'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { isBusinessError } from '@plinth/kernel'
import { assertOrgInScope, userInScope } from '../access/data-scope.ts'
import type { PermissionCatalogue } from '../access/permission-catalogue.ts'
import { findRoleHolders } from '../access/roles.ts'
import { revokeApiTokensOf } from '../api-tokens/api-tokens.ts'
import {
  type Account,
  type AccountProblem,
  type Accounts,
  type Actor,
  type ExternalIdentity,
  type GrantAdjustment,
  type NewUser,
  superAdminRole,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ExternalIdentityRow, PendingSignIn, Role, User, UserRole } from '../entities.ts'
import type { ProofMethod } from '../proof/contract.ts'
import { loginLookupOf, normalizeOptionalEmail, normalizeOptionalMobile, normalizeUsername } from './account-names.ts'
import { signInWaysOf } from './credentials.ts'
import type { UserDependencies, Users } from './users.ts'

/**
 * Maximum number of attempts to find an unused generated name. One attempt is nearly always enough, because 2^32 names
 * are possible.
 */
const nameAttempts = 5

/** A query has at most this many ids, because databases limit the number of parameters. */
const usersPerQuery = 500

interface AccountDependencies extends UserDependencies {
  readonly users: Users
  readonly catalogue: PermissionCatalogue
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

/** Implements the service `accounts`, by which other plugins access users. */
export class AccountService implements Accounts {
  readonly #parts: AccountDependencies

  constructor(parts: AccountDependencies) {
    this.#parts = parts
  }

  async hasUsers(): Promise<boolean> {
    const first = await this.#parts.db.fork().find(User, {}, { limit: 1, fields: ['id'] })
    return first.length > 0
  }

  check({ username, email = null, mobile = null }: Parameters<Accounts['check']>[0]): readonly AccountProblem[] {
    return [
      ...(username === undefined ? [] : problemOf('username', () => normalizeUsername(username))),
      ...problemOf('email', () => normalizeOptionalEmail(email)),
      ...problemOf('mobile', () => normalizeOptionalMobile(mobile)),
    ]
  }

  async find(userId: number): Promise<Account | undefined> {
    return accountOf(await this.#parts.db.fork().findOne(User, userId))
  }

  async findAll(userIds: readonly number[]): Promise<readonly Account[]> {
    const expected = [...new Set(userIds)]
    const em = this.#parts.db.fork()
    const found: Account[] = []
    for (let start = 0; start < expected.length; start += usersPerQuery) {
      const rows = await em.find(User, { id: { $in: expected.slice(start, start + usersPerQuery) } })
      found.push(...rows.map(knownAccount))
    }
    return found
  }

  async findByUsername(username: string): Promise<Account | undefined> {
    const key = loginLookupOf(username)
    if (key === undefined || !('usernameKey' in key)) return undefined
    return accountOf(await this.#parts.db.fork().findOne(User, key))
  }

  async findByRole(roleCode: string): Promise<readonly Account[]> {
    const em = this.#parts.db.fork()
    const role = await em.findOne(Role, { code: roleCode })
    if (role === null) return []
    const { condition } = await findRoleHolders(this.#parts.db, role.id)
    const where = { $and: [{ enabled: true }, condition] }
    return (await em.find(User, where, { orderBy: { id: 'asc' } })).map(knownAccount)
  }

  async create(user: NewUser, actor: Actor): Promise<Account> {
    return knownAccount(await this.#parts.users.create(user, actor))
  }

  async createSuperAdministrator(user: NewUser, actor: Actor): Promise<Account> {
    return this.create({ ...user, roleIds: [await superAdminId(this.#parts.db.fork())] }, actor)
  }

  async createAdministrator(user: NewUser & { readonly password: string }, actor: Actor) {
    if (await this.hasUsers()) return { created: false, account: undefined }
    await this.seed()
    const role = await superAdminId(this.#parts.db.fork())
    const prepared = await this.#parts.users.prepare({ ...user, roleIds: [role] })
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      if ((await em.count(User)) > 0) return { created: false, account: undefined }
      return { created: true, account: knownAccount(await this.#parts.users.insert(em, prepared, actor)) }
    })
  }

  confirmEmail(userId: number, email: string, actor: Actor): Promise<void> {
    return this.#parts.users.confirmEmail(userId, email, actor)
  }

  async rename(userId: number, username: string, actor: Actor): Promise<Account> {
    return knownAccount(await this.#parts.users.update(userId, { username }, undefined, actor))
  }

  async hasExternal(userId: number, provider: string): Promise<boolean> {
    return (await this.#parts.db.fork().count(ExternalIdentityRow, { userId, provider })) > 0
  }

  async findByExternal(subject: Pick<ExternalIdentity, 'provider' | 'subject'>) {
    const found = await this.#findExternal(subject)
    return found && { ...found.account, externalProof: found.proof }
  }

  async resolveExternal(
    subject: ExternalIdentity,
    { username, fallbackPrefix }: { readonly username: string; readonly fallbackPrefix: string },
    actor: Actor,
  ) {
    const known = await this.#findExternal(subject)
    if (known !== undefined) return { created: false, ...known }
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      const bound = await this.#findExternal(subject)
      if (bound !== undefined) return { created: false, ...bound }
      const name = await freeName(em, username, fallbackPrefix)
      const user = await this.#parts.users.insert(em, await this.#parts.users.prepare({ username: name }), actor)
      this.#bind(em, user.id, subject)
      await em.flush()
      return { created: true, account: knownAccount(user), proof: subject.proof ?? null }
    })
  }

  async storeExternalProof({ provider, subject }: Pick<ExternalIdentity, 'provider' | 'subject'>, proof: string) {
    const { db, authority, sessions } = this.#parts
    await db.transactional(async (em) => {
      const bound = await em.findOne(ExternalIdentityRow, { provider, subject })
      if (bound === null || bound.proof === proof) return
      if (bound.proof != null) {
        await authority.changeOf(bound.userId)
        await sessions.endAll(bound.userId)
        await revokeApiTokensOf(this.#parts, bound.userId)
      }
      await em.nativeUpdate(ExternalIdentityRow, { provider, subject }, { proof })
    })
  }

  bindExternal(userId: number, subject: ExternalIdentity, actor: Actor): Promise<void> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      await userInScope(em, userId, actor)
      await this.#parts.rules.assertMayActOn(em, userId, actor)
      const bound = await em.findOne(ExternalIdentityRow, { provider: subject.provider, subject: subject.subject })
      if (bound !== null && bound.userId !== userId) throw businessError('external-identity-taken')
      if (bound !== null) return
      this.#bind(em, userId, subject)
      await em.flush()
      await this.#parts.audit.record(actor, 'user.bind-external', userId, { provider: subject.provider })
    })
  }

  unbindExternal(
    userId: number,
    { provider, subject }: Pick<ExternalIdentity, 'provider' | 'subject'>,
    actor: Actor,
  ): Promise<void> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      await userInScope(em, userId, actor)
      await this.#parts.rules.assertMayActOn(em, userId, actor)
      const bound = await em.findOne(ExternalIdentityRow, { provider, subject, userId })
      if (bound === null) return
      await em.nativeDelete(ExternalIdentityRow, { id: bound.id })
      if ((await signInWaysOf(em, userId, this.#parts.proofMethods)).length === 0)
        throw businessError('last-sign-in-way')
      // A sign-in that began with the identity must not be completed, or set up a second factor.
      await em.nativeDelete(PendingSignIn, { userId })
      await this.#parts.audit.record(actor, 'user.unbind-external', userId, { provider })
    })
  }

  async adjustGrants(
    userId: number,
    change: (heldRoleIds: readonly number[]) => Promise<GrantAdjustment>,
    actor: Actor,
  ): Promise<void> {
    await this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      const held = (await em.find(UserRole, { userId })).map(({ roleId }) => roleId)
      const { add, remove, orgId } = await change(held)
      const changeable = await em.find(Role, { id: { $in: [...add, ...remove] }, builtIn: false })
      const isChangeable = (id: number) => changeable.some((role) => role.id === id)
      const kept = held.filter((id) => !remove.includes(id) || !isChangeable(id))
      const roleIds = [...new Set([...kept, ...add.filter(isChangeable)])]
      await this.#parts.users.update(userId, { roleIds, ...(orgId === undefined ? {} : { orgId }) }, undefined, actor)
    })
  }

  async assertMayGrant(
    { roleIds, orgId }: { readonly roleIds: readonly number[]; readonly orgId: number | null },
    actor: Actor,
  ): Promise<void> {
    const em = this.#parts.db.fork()
    if ((await em.count(Role, { id: { $in: [...roleIds] }, builtIn: true })) > 0)
      throw businessError('role-unknown', { data: { field: 'roleIds' } })
    await this.#parts.rules.assertMayGrant(em, roleIds, actor)
    if (orgId !== null && 'principal' in actor) assertOrgInScope(actor.principal, orgId)
  }

  seed(): Promise<void> {
    return this.#parts.catalogue.store(this.#parts.db)
  }

  async #findExternal({ provider, subject }: Pick<ExternalIdentity, 'provider' | 'subject'>) {
    const em = this.#parts.db.fork()
    const bound = await em.findOne(ExternalIdentityRow, { provider, subject })
    const account = bound === null ? undefined : accountOf(await em.findOne(User, bound.userId))
    return account === undefined ? undefined : { account, proof: bound?.proof ?? null }
  }

  #bind(em: SqlEntityManager, userId: number, { provider, chainType, subject, proof }: ExternalIdentity): void {
    const { db, clock } = this.#parts
    const about = { userId, proof: proof ?? null, createdAt: new Date(clock.now()) }
    em.create(ExternalIdentityRow, { id: db.newId(), provider, chainType, subject, ...about })
  }
}

async function superAdminId(em: SqlEntityManager): Promise<number> {
  return (await em.findOneOrFail(Role, { code: superAdminRole })).id
}

async function freeName(em: SqlEntityManager, suggested: string, fallbackPrefix: string): Promise<string> {
  const generated = () => `${fallbackPrefix}_${randomBytes(4).toString('hex')}`
  const candidates = [suggested, ...Array.from({ length: nameAttempts }, generated)]
  for (const name of candidates) {
    if ((await em.count(User, { usernameKey: normalizeUsername(name).usernameKey })) === 0) return name
  }
  throw businessError('username-taken')
}

function knownAccount({ id, username, email, mobile, enabled, orgId }: User): Account {
  return { id, username, email: email ?? null, mobile: mobile ?? null, enabled, orgId: orgId ?? null }
}

const accountOf = (user: User | null) => (user === null ? undefined : knownAccount(user))

const ruleOf: Readonly<Record<string, AccountProblem['rule']>> = {
  'iam.username-invalid': 'username',
  'iam.username-mixed-script': 'username-mixed-script',
  'iam.email-invalid': 'email',
  'iam.mobile-invalid': 'mobile',
}

/** Returns the problem of a text as a list, which is empty for a valid text. */
function problemOf(field: AccountProblem['field'], form: () => unknown): AccountProblem[] {
  try {
    form()
    return []
  } catch (error) {
    const rule = isBusinessError(error) ? ruleOf[error.reason ?? ''] : undefined
    if (rule === undefined) throw error
    return [{ field, rule }]
  }
}
