import type { SqlEntityManager } from '@mikro-orm/sql'
import { LRUCache } from 'lru-cache'
import { assertNoApiToken } from '../api-tokens/route-access.ts'
import { type Actor, type DataScope, type Principal, superAdminRole } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Role, RolePermission, User, UserRole } from '../entities.ts'
import { rowsInScope } from './data-scope.ts'
import { type SignInPolicy, strictestPolicy } from './sign-in-policy.ts'

/** The permissions and the data scope that one role grants. */
export interface RoleGrant {
  readonly code: string
  readonly dataScope: DataScope
  readonly permissions: readonly string[]
}

export type Grants = Pick<Principal, 'roles' | 'isSuperAdmin' | 'permissions' | 'dataScope' | 'can'>

const width: Readonly<Record<DataScope, number>> = { self: 0, org: 1, all: 2 }

export const narrowerScope = (one: DataScope, other: DataScope): DataScope => (width[one] < width[other] ? one : other)

/**
 * Returns the combined grants of several roles: all their permissions and their widest data scope. The role
 * `super-admin` grants everything.
 */
export function resolveGrants(roles: readonly RoleGrant[]): Grants {
  const isSuperAdmin = roles.some(({ code }) => code === superAdminRole)
  const permissions = new Set(roles.flatMap((role) => role.permissions))
  const widestScope = roles.reduce<DataScope>(
    (scope, role) => (width[role.dataScope] > width[scope] ? role.dataScope : scope),
    'self',
  )
  return {
    roles: roles.map(({ code }) => code),
    isSuperAdmin,
    permissions,
    dataScope: isSuperAdmin ? 'all' : widestScope,
    can: (permission) => isSuperAdmin || permissions.has(permission),
  }
}

/**
 * Returns whether `holder` has everything that `other` grants. Actors may neither grant nor change more than they have
 * themselves.
 */
export function hasAllGrantsOf({ isSuperAdmin, dataScope, permissions }: Grants, other: Grants): boolean {
  if (isSuperAdmin) return true
  if (other.isSuperAdmin || width[other.dataScope] > width[dataScope]) return false
  return [...other.permissions].every((permission) => permissions.has(permission))
}

/**
 * Checks whether an actor may change a user or role. The checks read several rows, so call them under the lock of
 * `Authority`.
 */
export class UserChangeGuard {
  readonly #roles: RoleGrants

  constructor(roles: RoleGrants) {
    this.#roles = roles
  }

  /**
   * Checks that the actor has at least the permissions of the user to be changed. Users may always change themselves,
   * but their API tokens may not change them.
   *
   * @throws BusinessError "403" `iam.beyond-own-authority`, `iam.session-required`
   */
  async assertMayActOn(em: SqlEntityManager, userId: number, actor: Actor): Promise<void> {
    if (!('principal' in actor)) return
    if (actor.principal.userId === userId) assertNoApiToken(actor.principal)
    else assertHasAllGrantsOf(actor.principal, await this.#roles.ofUser(em, userId))
  }

  /**
   * Checks that the actor may access all users with the role, because a change of the role concerns all of them.
   *
   * @throws BusinessError "403" `iam.out-of-scope`
   */
  async assertHoldersInScope(em: SqlEntityManager, roleId: number, actor: Actor): Promise<void> {
    if (!('principal' in actor)) return
    const inScope = rowsInScope(actor.principal, 'user_id')
    const [all, reached] = [{ roleId }, { $and: [{ roleId }, inScope] }]
    if ((await em.count(UserRole, reached)) < (await em.count(UserRole, all))) throw businessError('out-of-scope')
  }

  /**
   * Checks that actors only grant permissions that they have.
   *
   * @throws BusinessError "404" `iam.role-unknown`, "403" `iam.beyond-own-authority`
   */
  async assertMayGrant(em: SqlEntityManager, roleIds: readonly number[], actor: Actor): Promise<void> {
    const found = roleIds.length === 0 ? 0 : await em.count(Role, { id: { $in: [...roleIds] } })
    if (found !== new Set(roleIds).size) throw businessError('role-unknown', { data: { field: 'roleIds' } })
    if ('principal' in actor) assertHasAllGrantsOf(actor.principal, await this.#roles.ofRoles(em, roleIds))
  }

  /**
   * Checks that at least one enabled administrator remains if the user `without` is disabled, deleted or loses the
   * role.
   *
   * @throws BusinessError "409" `iam.last-administrator`
   */
  async assertAdministratorLeft(em: SqlEntityManager, without: number): Promise<void> {
    const role = await em.findOne(Role, { code: superAdminRole })
    const held = await em.find(UserRole, { roleId: role?.id ?? 0 })
    if (!held.some(({ userId }) => userId === without)) return
    const others = held.map(({ userId }) => userId).filter((userId) => userId !== without)
    const left = others.length === 0 ? 0 : await em.count(User, { id: { $in: others }, enabled: true })
    if (left === 0) throw businessError('last-administrator')
  }
}

export function assertHasAllGrantsOf(holder: Grants, grants: Grants): void {
  if (!hasAllGrantsOf(holder, grants)) throw businessError('beyond-own-authority')
}

const keptRoles = 1_000

/**
 * Reads the grants of users and roles from the database. Caches the grants of a role under its version. Every change of
 * a role increments its version.
 */
export class RoleGrants {
  readonly #roles = new LRUCache<string, RoleGrant>({ max: keptRoles })

  async ofUser(em: SqlEntityManager, userId: number): Promise<Grants> {
    return (await this.withPolicyOf(em, userId)).grants
  }

  /** Returns the grants of a user and the rules for the sessions of the user. Both are in the same rows. */
  async withPolicyOf(
    em: SqlEntityManager,
    userId: number,
  ): Promise<{ readonly grants: Grants; readonly policy: SignInPolicy }> {
    const held = await em.find(UserRole, { userId })
    const roles = await this.#find(
      em,
      held.map(({ roleId }) => roleId),
    )
    return { grants: await this.#resolve(em, roles), policy: strictestPolicy(roles) }
  }

  /** Returns the combined grants of roles. Ignores unknown ids. */
  async ofRoles(em: SqlEntityManager, roleIds: readonly number[]): Promise<Grants> {
    return this.#resolve(em, await this.#find(em, roleIds))
  }

  async #find(em: SqlEntityManager, roleIds: readonly number[]): Promise<readonly Role[]> {
    return roleIds.length === 0 ? [] : em.find(Role, { id: { $in: [...roleIds] } }, { orderBy: { id: 'asc' } })
  }

  async #resolve(em: SqlEntityManager, roles: readonly Role[]): Promise<Grants> {
    return resolveGrants(await Promise.all(roles.map((role) => this.#grantOf(em, role))))
  }

  async #grantOf(em: SqlEntityManager, { id, version, code, dataScope }: Role): Promise<RoleGrant> {
    const key = `${id}:${version}`
    const known = this.#roles.get(key)
    if (known !== undefined) return known
    const rows = await em.find(RolePermission, { roleId: id })
    const grant = { code, dataScope, permissions: rows.map(({ permissionCode }) => permissionCode) }
    // Inside a transaction, the grant is not cached, because its version may be rolled back.
    if (!em.isInTransaction()) this.#roles.set(key, grant)
    return grant
  }
}
