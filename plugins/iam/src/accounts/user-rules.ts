import type { SqlEntityManager } from '@mikro-orm/sql'
import { rowsInScope } from '../access/data-scope.ts'
import { covers, type Grants } from '../access/grants.ts'
import type { RoleGrants } from '../access/role-grants.ts'
import { type Actor, type Principal, superAdminRole } from '../contract.ts'
import { Role, User, UserRole } from '../entities.ts'
import { refusal } from '../failures.ts'

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
