import type { SqlEntityManager } from '@mikro-orm/sql'
import { userInScope } from '../access/data-scope.ts'
import { type SignInPolicy, signInPolicyOf } from '../access/sign-in-policy.ts'
import { revokeApiTokensOf } from '../api-tokens/api-tokens.ts'
import {
  type Actor,
  type CredentialHolder,
  type Credentials,
  type LockedCredentials,
  type LoginAttempt,
  secondFactorsReset,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ExternalIdentityRow, Role, User, UserRole } from '../entities.ts'
import type { ProofMethod } from '../proof/contract.ts'
import type { Login } from '../sessions/login.ts'
import { loginLookupOf, normalizeOptionalEmail } from './account-names.ts'
import { stateOf } from './account-state.ts'
import { incrementRowVersion, isOperatorOf, type UserDependencies } from './users.ts'

interface CredentialDependencies extends UserDependencies {
  readonly login: Login
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

/** Implements the service `credentials`, by which other plugins recover accounts. */
export class CredentialService implements Credentials {
  readonly #parts: CredentialDependencies

  constructor(parts: CredentialDependencies) {
    this.#parts = parts
  }

  async findByIdentifier(identifier: string): Promise<CredentialHolder | undefined> {
    const key = loginLookupOf(identifier)
    return key === undefined ? undefined : holderOf(await this.#parts.db.fork().findOne(User, key))
  }

  async find(userId: number): Promise<CredentialHolder | undefined> {
    return holderOf(await this.#parts.db.fork().findOne(User, userId))
  }

  async hashPassword(userId: number, password: string): Promise<string> {
    const { db, grants, passwords, hasher } = this.#parts
    const user = await db.fork().findOne(User, userId)
    if (user === null) throw businessError('user-unknown')
    const isOperator = isOperatorOf(await grants.ofUser(db.fork(), userId))
    passwords.assertAllowed(password, { username: user.username, isOperator })
    return hasher.hash(password)
  }

  async confirmPassword(userId: number, password: string, attempt: LoginAttempt): Promise<void> {
    await this.#parts.login.confirmPassword(userId, password, attempt)
  }

  signInPolicyOf(userId: number): Promise<SignInPolicy> {
    return signInPolicyOf(this.#parts.db.fork(), userId)
  }

  signInWaysOf(userId: number): Promise<readonly string[]> {
    return signInWaysOf(this.#parts.db.fork(), userId, this.#parts.proofMethods)
  }

  change<T>(userId: number, actor: Actor, work: (account: LockedCredentials) => Promise<T>): Promise<T> {
    const { db, authority, rules } = this.#parts
    return db.transactional(async (em) => {
      await authority.lock()
      const user = await userInScope(em, userId, actor)
      await rules.assertMayActOn(em, userId, actor)
      const before = stateOf(user)
      const result = await work(this.#locked(em, user, actor))
      if (stateOf(user) !== before) incrementRowVersion(user, this.#parts.clock)
      await em.flush()
      return result
    })
  }

  #locked(em: SqlEntityManager, user: User, actor: Actor): LockedCredentials {
    const { db, clock, authority, rules, sessions, audit, events, proofMethods } = this.#parts
    const { id, username } = user
    return {
      holder: knownHolder(user),
      setPassword(passwordHash) {
        user.passwordHash = passwordHash
      },
      async setConfirmedEmail(text) {
        const { email, emailKey } = normalizeOptionalEmail(text)
        if (emailKey !== null && (await em.count(User, { emailKey, id: { $ne: id } })) > 0)
          throw businessError('email-taken', { data: { field: 'email' } })
        Object.assign(user, { email, emailKey })
      },
      async endCredentials() {
        const ended = await sessions.endAll(id)
        await revokeApiTokensOf({ db, clock }, id)
        await authority.changeOf(id)
        return ended
      },
      async resetSecondFactors() {
        const methods: string[] = []
        for (const [name, { reset }] of [...proofMethods].sort()) if (await reset?.(id)) methods.push(name)
        if (methods.length > 0)
          await events?.publish(secondFactorsReset, { userId: id, methods }, { key: `user:${id}` })
        return methods
      },
      async unmetFactorRules(drop) {
        if ([...proofMethods.values()].some(({ secondFactor }) => secondFactor?.canSetUp?.() === true)) return []
        const roleIds = (await em.find(UserRole, { userId: id })).map(({ roleId }) => roleId)
        const where = { id: { $in: roleIds }, secondFactorFrom: { $lte: new Date(clock.now()) } }
        const roles = await em.find(Role, where, { orderBy: { code: 'asc' } })
        if (drop) for (const role of roles) role.secondFactorFrom = null
        return roles.map(({ code }) => code)
      },
      async assertMayBeChangedBy(other) {
        await userInScope(em, id, other)
        await rules.assertMayActOn(em, id, other)
      },
      record: (action, summary = {}) => audit.record(actor, action, id, { username, ...summary }),
    }
  }
}

const knownHolder = (user: User): CredentialHolder => ({
  id: user.id,
  username: user.username,
  email: user.email ?? null,
  mobile: user.mobile ?? null,
  enabled: user.enabled,
  orgId: user.orgId ?? null,
  confirmedEmail: user.emailKey == null ? null : (user.email ?? null),
  hasPassword: user.passwordHash != null,
  state: stateOf(user),
})

const holderOf = (user: User | null) => (user === null ? undefined : knownHolder(user))

/** See `Credentials.signInWaysOf`. */
export async function signInWaysOf(
  em: SqlEntityManager,
  userId: number,
  proofMethods: ReadonlyMap<string, ProofMethod>,
): Promise<readonly string[]> {
  const user = await em.findOne(User, userId)
  const external = await em.find(ExternalIdentityRow, { userId }, { orderBy: { id: 'asc' } })
  const methods = await Promise.all(
    [...proofMethods].map(async ([name, method]) =>
      method.signsIn === true && (await method.isAvailable(userId)) ? [name] : [],
    ),
  )
  const password = user?.passwordHash == null ? [] : ['password']
  const isUsable = (provider: string) =>
    [...proofMethods.values()].every(({ acceptsExternal = () => true }) => acceptsExternal(provider))
  const usable = external.filter(({ provider }) => isUsable(provider))
  return [...password, ...usable.map(({ provider }) => `external:${provider}`), ...methods.flat()]
}
