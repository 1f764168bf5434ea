import type { SqlEntityManager } from '@mikro-orm/sql'
import { LRUCache } from 'lru-cache'
import { type Actor, type DataScope, type Principal, superAdminRole } from '../contract.ts'
import { Role, RolePermission, User, UserRole } from '../entities.ts'
import { refusal } from '../failures.ts'
import { rowsInScope } from './data-scope.ts'

/** What one role gives to those who hold it. */
export interface RoleGrant {
  readonly code: string
  readonly dataScope: DataScope
  readonly permissions: readonly string[]
}

export type Grants = Pick<Principal, 'roles' | 'isSuperAdmin' | 'permissions' | 'dataScope' | 'can'>

const width: Readonly<Record<DataScope, number>> = { self: 0, org: 1, all: 2 }

/** What all roles give together: every permission of any of them, the widest scope, and everything to `super-admin`. */
export function resolveGrants(roles: readonly RoleGrant[]): Grants {
  const isSuperAdmin = roles.some(({ code }) => code === superAdminRole)
  const permissions = new Set(roles.flatMap((role) => role.permissions))
  const widest = roles.reduce<DataScope>(
    (scope, role) => (width[role.dataScope] > width[scope] ? role.dataScope : scope),
    'self',
  )
  return {
    roles: roles.map(({ code }) => code),
    isSuperAdmin,
    permissions,
    dataScope: isSuperAdmin ? 'all' : widest,
    can: (permission) => isSuperAdmin || permissions.has(permission),
  }
}

/** True when the first holds everything that the second holds. Nobody may hand out or act on more than that. */
export function covers(holder: Grants, other: Grants): boolean {
  if (holder.isSuperAdmin) return true
  if (other.isSuperAdmin || width[other.dataScope] > width[holder.dataScope]) return false
  return [...other.permissions].every((permission) => holder.permissions.has(permission))
}

/**
 * Rules about what one user may do to another. They read several rows, so they are asked under the lock of
 * `Authority.change`.
 */
export class UserRules {
  readonly #roles: RoleGrants

  constructor(roles: RoleGrants) {
    this.#roles = roles
  }

  /** Nobody acts on who holds more; everybody holds as much as oneself. Throws "403" `iam.beyond-own-authority`. */
  async assertMayActOn(em: SqlEntityManager, userId: number, actor: Actor): Promise<void> {
    if (!('principal' in actor) || actor.principal.userId === userId) return
    assertCovered(actor.principal, await this.#roles.ofUser(em, userId))
  }

  /** Changing a role acts on all who hold it. Throws "403" `iam.out-of-scope` when one of them is out of scope. */
  async assertHoldersInScope(em: SqlEntityManager, roleId: number, actor: Actor): Promise<void> {
    if (!('principal' in actor)) return
    const inScope = rowsInScope(actor.principal, 'user_id')
    const [all, reached] = [{ roleId }, { $and: [{ roleId }, inScope] }]
    if ((await em.count(UserRole, reached)) < (await em.count(UserRole, all))) throw refusal('out-of-scope')
  }

  /** Nobody hands out what they do not hold. Throws "404" `iam.role-unknown`, "403" `iam.beyond-own-authority`. */
  async assertMayGrant(em: SqlEntityManager, roleIds: readonly number[], actor: Actor): Promise<void> {
    const found = roleIds.length === 0 ? 0 : await em.count(Role, { id: { $in: [...roleIds] } })
    if (found !== new Set(roleIds).size) throw refusal('role-unknown', { data: { field: 'roleIds' } })
    if ('principal' in actor) assertCovered(actor.principal, await this.#roles.ofRoles(em, roleIds))
  }

  /** Throws "409" `iam.last-administrator` unless an enabled administrator is left besides this user. */
  async assertAdministratorLeft(em: SqlEntityManager, without: number): Promise<void> {
    const role = await em.findOne(Role, { code: superAdminRole })
    const held = await em.find(UserRole, { roleId: role?.id ?? 0 })
    if (!held.some(({ userId }) => userId === without)) return
    const others = held.map(({ userId }) => userId).filter((userId) => userId !== without)
    const left = others.length === 0 ? 0 : await em.count(User, { id: { $in: others }, enabled: true })
    if (left === 0) throw refusal('last-administrator')
  }
}

export function assertCovered(principal: Principal, grants: Grants): void {
  if (!covers(principal, grants)) throw refusal('beyond-own-authority')
}

const keptRoles = 1_000

/** What users may do, read from the database. A role's content is kept under its version, which every change raises. */
export class RoleGrants {
  readonly #roles = new LRUCache<string, RoleGrant>({ max: keptRoles })

  async ofUser(em: SqlEntityManager, userId: number): Promise<Grants> {
    const held = await em.find(UserRole, { userId })
    return this.ofRoles(
      em,
      held.map(({ roleId }) => roleId),
    )
  }

  /** Ids of roles that do not exist give nothing. */
  async ofRoles(em: SqlEntityManager, roleIds: readonly number[]): Promise<Grants> {
    if (roleIds.length === 0) return resolveGrants([])
    const roles = await em.find(Role, { id: { $in: [...roleIds] } }, { orderBy: { id: 'asc' } })
    return resolveGrants(await Promise.all(roles.map((role) => this.#grantOf(em, role))))
  }

  async #grantOf(em: SqlEntityManager, { id, version, code, dataScope }: Role): Promise<RoleGrant> {
    const key = `${id}:${version}`
    const known = this.#roles.get(key)
    if (known !== undefined) return known
    const rows = await em.find(RolePermission, { roleId: id })
    const grant = { code, dataScope, permissions: rows.map(({ permissionCode }) => permissionCode) }
    // Inside a transaction the version may never be committed.
    if (!em.isInTransaction()) this.#roles.set(key, grant)
    return grant
  }
}
