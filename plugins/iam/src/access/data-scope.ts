import { raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Actor, Principal } from '../contract.ts'
import { User } from '../entities.ts'
import { refusal } from '../failures.ts'

type Scoped = Pick<Principal, 'userId' | 'orgId' | 'dataScope'>

/** Whom a principal reaches: everybody, the users of one organisation, or one user. */
type Reach = { readonly kind: 'all' } | { readonly orgId: number } | { readonly userId: number }

/**
 * The data scope of a principal (decision A5), the one place that judges it. Scope `org` without an organisation reaches
 * oneself alone: users without one do not form an organisation.
 */
function reachOf({ dataScope, orgId, userId }: Scoped): Reach {
  if (dataScope === 'all') return { kind: 'all' }
  return dataScope === 'org' && orgId !== null ? { orgId } : { userId }
}

/** Condition for the users that a principal reaches. */
export function usersInScope(principal: Scoped): { readonly id?: number; readonly orgId?: number } {
  const reach = reachOf(principal)
  if ('kind' in reach) return {}
  return 'orgId' in reach ? { orgId: reach.orgId } : { id: reach.userId }
}

/**
 * Condition for rows that name a user, such as the owner of a task. A row without a user, or whose user is gone, is seen
 * with scope `all` alone.
 *
 * @param column name in the database, such as `owner_id`; never from a caller
 */
export function rowsInScope(principal: Scoped, column: string): object {
  const reach = reachOf(principal)
  if ('kind' in reach) return {}
  if ('userId' in reach) return { [raw((alias) => `${alias}.${column}`)]: reach.userId }
  const member = (alias: string) =>
    `exists (select 1 from iam_user scoped where scoped.id = ${alias}.${column} and scoped.org_id = ?)`
  return { [raw(member, [reach.orgId])]: [] }
}

/** Condition for the users that an actor reaches; what acts without a user reaches all. */
export const scopeOf = (actor: Actor) => ('principal' in actor ? usersInScope(actor.principal) : {})

/** The user, if the actor reaches one. Throws "404" `iam.user-unknown`, also for a user out of scope. */
export async function userInScope(em: SqlEntityManager, id: number, actor: Actor): Promise<User> {
  const user = await em.findOne(User, { $and: [{ id }, scopeOf(actor)] })
  if (user === null) throw refusal('user-unknown')
  return user
}

/**
 * Whether a principal may put users, or what belongs to an organisation, into this one; null is none. With scope `org`
 * only into the own one, with scope `self` into none at all.
 *
 * @throws BusinessError "403" `iam.organisation-out-of-scope`
 */
export function assertOrgInScope(principal: Scoped, orgId: number | null): void {
  const reach = reachOf(principal)
  if ('kind' in reach || ('orgId' in reach && reach.orgId === orgId)) return
  throw refusal('organisation-out-of-scope', { data: { field: 'orgId' } })
}

/**
 * The organisation of a user whom the actor creates: the own one where the actor names none and may use no other.
 *
 * @throws BusinessError "403" `iam.creation-out-of-scope` for scope `self`, `iam.organisation-out-of-scope`
 */
export function orgOfNewUser(actor: Actor, asked: number | null | undefined): number | null {
  if (!('principal' in actor)) return asked ?? null
  const reach = reachOf(actor.principal)
  if ('userId' in reach) throw refusal('creation-out-of-scope')
  if (asked === undefined) return 'orgId' in reach ? reach.orgId : null
  assertOrgInScope(actor.principal, asked)
  return asked
}

/**
 * Whether the actor may move this user to another organisation. Oneself only with scope `all`: whoever could choose the
 * own organisation would choose whom to reach.
 *
 * @throws BusinessError "403" `iam.organisation-out-of-scope`
 */
export function assertMayMove(actor: Actor, user: { readonly id: number }, orgId: number | null): void {
  if (!('principal' in actor)) return
  assertOrgInScope(actor.principal, orgId)
  if (actor.principal.userId === user.id && actor.principal.dataScope !== 'all') {
    throw refusal('organisation-out-of-scope', { data: { field: 'orgId' } })
  }
}
