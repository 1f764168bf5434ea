import { type DataScope, type Principal, superAdminRole } from '../contract.ts'

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
