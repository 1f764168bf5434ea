import { raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { rowsOfUser, rowsThroughSql } from '@plinth/database'
import type { BusinessError } from '@plinth/kernel'
import { assertNoApiToken } from '../api-tokens/route-access.ts'
import type { Actor, GuardedRequest, Principal, RowOwner } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { User } from '../entities.ts'
import { requirePrincipal } from './access-guard.ts'

type Scoped = Pick<Principal, 'userId' | 'orgId' | 'dataScope'>

/** Users that a principal may access: all users, the users of one organisation, or one user. */
type Reach = { readonly kind: 'all' } | { readonly orgId: number } | { readonly userId: number }

/**
 * Returns the users in the data scope of a principal (decision A5). All scope checks use this function. A principal
 * with scope `org` but without an organisation may only access itself, because users without an organisation do not
 * belong together.
 */
function reachOf({ dataScope, orgId, userId }: Scoped): Reach {
  if (dataScope === 'all') return { kind: 'all' }
  return dataScope === 'org' && orgId !== null ? { orgId } : { userId }
}

/** Returns a query condition for the users that a principal may access. */
export function usersInScope(principal: Scoped): { readonly id?: number; readonly orgId?: number } {
  const reach = reachOf(principal)
  if ('kind' in reach) return {}
  return 'orgId' in reach ? { orgId: reach.orgId } : { id: reach.userId }
}

/** Returns a query condition for rows that belong to users in the scope of a principal. See `Identity.rowsInScope`. */
export function rowsInScope(principal: Scoped, owner: RowOwner): object {
  const reach = reachOf(principal)
  if ('kind' in reach) return {}
  if (typeof owner === 'string' && 'userId' in reach) return { [raw((alias) => `${alias}.${owner}`)]: reach.userId }
  return { [raw((alias) => condition(alias, owner, reach).sql, condition('', owner, reach).parameters)]: [] }
}

/**
 * Returns a query condition for rows that belong to users in the data scope of the caller. Every operation with the
 * scope `caller` must use this condition to read and change rows.
 *
 * @param owner how a row refers to its user
 * @returns a condition of the entity manager, which can be combined with other conditions by `$and`; empty for scope
 *   `all`
 * @throws BusinessError "401" `iam.token-missing` on a public route
 */
export function callerRows(request: Pick<GuardedRequest, 'principal'>, owner: RowOwner): object {
  return rowsInScope(requirePrincipal(request), owner)
}

/**
 * Returns the condition of `callerRows` as SQL, for statements without the entity manager. Returns `1 = 1` for scope
 * `all`.
 */
export function callerRowsSql(
  request: Pick<GuardedRequest, 'principal'>,
  alias: string,
  owner: RowOwner,
): { readonly sql: string; readonly parameters: readonly (string | number)[] } {
  const reach = reachOf(requirePrincipal(request))
  return 'kind' in reach ? { sql: '1 = 1', parameters: [] } : condition(alias, owner, reach)
}

/**
 * Returns the id of the caller as owner of later work, such as a task that writes an export. The work must use the data
 * scope of its owner when it runs: `identity.principalOf(ownerId)` and `rowsInScope`. An API token cannot start such
 * work, because the work would have the permissions of the owner instead of those of the token.
 *
 * @throws BusinessError "401" `iam.token-missing` on a public route; "403" `iam.session-required` for an API token
 */
export function ownerOfLaterWork(request: Pick<GuardedRequest, 'principal'>): number {
  const principal = requirePrincipal(request)
  assertNoApiToken(principal)
  // The work itself reads rows, so asking for the scope is all that the handler can do.
  reachOf(principal)
  return principal.userId
}

type Limited = Exclude<Reach, { readonly kind: 'all' }>

/** @param depth nesting level of the subquery, so that each level has its own table alias */
function condition(
  alias: string,
  owner: RowOwner,
  reach: Limited,
  depth = 0,
): { readonly sql: string; readonly parameters: readonly (string | number)[] } {
  if ('userId' in reach) return rowsOfUser(alias, owner, reach.userId)
  const users = `exists (select 1 from iam_user scoped where scoped.org_id = ? and`
  if (typeof owner === 'string') return { sql: `${users} scoped.id = ${alias}.${owner})`, parameters: [reach.orgId] }
  if ('through' in owner) {
    const linked = `owner_${depth}`
    const { sql, parameters } = condition(linked, owner.owner, reach, depth + 1)
    return { sql: rowsThroughSql(alias, owner, linked, sql), parameters }
  }
  if ('type' in owner) {
    return {
      sql: `${alias}.${owner.type} = 'user' and ${users} concat(scoped.id, '') = ${alias}.${owner.id})`,
      parameters: [reach.orgId],
    }
  }
  const { sql, parameters } = condition(alias, owner.user, reach, depth)
  return { sql: `(${alias}.${owner.org} = ? or ${sql})`, parameters: [reach.orgId, ...parameters] }
}

/**
 * Returns a query condition for the users that an actor may access. An actor that is not a user may access all users.
 */
export const accessibleUsersCondition = (actor: Actor) => ('principal' in actor ? usersInScope(actor.principal) : {})

/**
 * Returns the user.
 *
 * @throws BusinessError "404" `iam.user-unknown` if the user does not exist or the actor may not access it
 */
export async function userInScope(em: SqlEntityManager, id: number, actor: Actor): Promise<User> {
  const user = await em.findOne(User, { $and: [{ id }, accessibleUsersCondition(actor)] })
  if (user === null) throw businessError('user-unknown')
  return user
}

/** Returns the error for a user, or another owner of a row, outside the data scope of the caller. */
export const outOfScope = (field: string | undefined): BusinessError =>
  businessError('out-of-scope', field === undefined ? {} : { data: { field } })

/**
 * Checks that a principal may assign this organisation to users or rows; null means no organisation. A principal with
 * scope `org` may only assign its own organisation. A principal with scope `self` may assign none.
 *
 * @throws BusinessError "403" `iam.organisation-out-of-scope`
 */
export function assertOrgInScope(principal: Scoped, orgId: number | null): void {
  const reach = reachOf(principal)
  if ('kind' in reach || ('orgId' in reach && reach.orgId === orgId)) return
  throw businessError('organisation-out-of-scope', { data: { field: 'orgId' } })
}

/**
 * Returns the organisation of a new user. If none is requested and the actor has scope `org`, the new user gets the
 * organisation of the actor.
 *
 * @throws BusinessError "403" `iam.creation-out-of-scope` for scope `self`, `iam.organisation-out-of-scope`
 */
export function resolveOrgOfNewUser(actor: Actor, requested: number | null | undefined): number | null {
  if (!('principal' in actor)) return requested ?? null
  const reach = reachOf(actor.principal)
  if ('userId' in reach) throw businessError('creation-out-of-scope')
  if (requested === undefined) return 'orgId' in reach ? reach.orgId : null
  assertOrgInScope(actor.principal, requested)
  return requested
}

/**
 * Checks that the actor may move this user to another organisation. Only actors with scope `all` may move themselves.
 * Otherwise users could choose whose data they access.
 *
 * @throws BusinessError "403" `iam.organisation-out-of-scope`
 */
export function assertMayChangeOrg(actor: Actor, user: { readonly id: number }, orgId: number | null): void {
  if (!('principal' in actor)) return
  assertOrgInScope(actor.principal, orgId)
  if (actor.principal.userId === user.id && actor.principal.dataScope !== 'all') {
    throw businessError('organisation-out-of-scope', { data: { field: 'orgId' } })
  }
}
