import { type Grants, narrowerScope } from '../access/role-grants.ts'
import type { DataScope } from '../contract.ts'

/**
 * Returns the grants of an API token: the permissions that both the token and its owner have now, and the narrower data
 * scope of both. A token without permissions has none, even if its owner is a super administrator.
 */
export function limitGrants(
  owner: Pick<Grants, 'can' | 'dataScope'>,
  token: { readonly permissions: readonly string[]; readonly dataScope: DataScope },
): Grants {
  const permissions: ReadonlySet<string> = new Set(token.permissions.filter(owner.can))
  return {
    roles: [],
    isSuperAdmin: false,
    permissions,
    dataScope: narrowerScope(owner.dataScope, token.dataScope),
    can: (permission) => permissions.has(permission),
  }
}
