import type { SqlEntityManager } from '@mikro-orm/sql'
import { type Actor, type Principal, superAdminRole } from './contract.ts'
import { Role, User, UserRole } from './entities.ts'
import { refusal } from './failures.ts'
import { covers, type Grants } from './grants.ts'
import type { RoleGrants } from './role-grants.ts'

type Where = { readonly id?: number; readonly orgId?: number }

/** Condition for the users within a principal's data scope (decision A5). */
export function scopeCondition({ dataScope, orgId, userId }: Principal): Where {
  if (dataScope === 'all') return {}
  return dataScope === 'org' && orgId !== null ? { orgId } : { id: userId }
}

/** The user, if the actor may see one. Throws "404" `iam.user-unknown`, also for a user out of scope. */
export async function userInScope(em: SqlEntityManager, id: number, actor: Actor): Promise<User> {
  const scope = 'principal' in actor ? scopeCondition(actor.principal) : {}
  const user = await em.findOne(User, { $and: [{ id }, scope] })
  if (user === null) throw refusal('user-unknown')
  return user
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

  /** Nobody acts on who holds more. Throws "403" `iam.beyond-own-authority`. */
  async assertMayActOn(em: SqlEntityManager, userId: number, actor: Actor): Promise<void> {
    if ('principal' in actor) assertCovered(actor.principal, await this.#roles.ofUser(em, userId))
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
