import type { SqlEntityManager } from '@mikro-orm/sql'
import { LRUCache } from 'lru-cache'
import { Role, RolePermission, UserRole } from '../entities.ts'
import { type Grants, type RoleGrant, resolveGrants } from './grants.ts'

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
