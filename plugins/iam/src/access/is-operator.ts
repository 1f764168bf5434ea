import type { Principal } from '../contract.ts'

/** True for a user with a permission. Anybody else may be a stranger: some ways to sign in create accounts. */
export const isOperator = ({ isSuperAdmin, permissions }: Pick<Principal, 'isSuperAdmin' | 'permissions'>): boolean =>
  isSuperAdmin || permissions.size > 0
