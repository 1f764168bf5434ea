import type { SqlEntityManager } from '@mikro-orm/sql'
import { Role, UserRole } from '../entities.ts'

/** Rules for the sign-in and the sessions of a user: for each rule, the strictest of all roles. */
export interface SignInPolicy {
  /** Time in milliseconds since the epoch from which the user must sign in with a second factor. Absent: never. */
  readonly secondFactorFrom?: number
  /** Maximum lifetime and idle time of a session in milliseconds. Absent: as configured. */
  readonly sessionLifetime?: number
  readonly sessionIdleTimeout?: number
}

export async function signInPolicyOf(em: SqlEntityManager, userId: number): Promise<SignInPolicy> {
  return (await signInPoliciesOf(em, [userId])).get(userId) ?? {}
}

/** Returns the rules of several users, with two queries. Users without a role are missing. */
export async function signInPoliciesOf(
  em: SqlEntityManager,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, SignInPolicy>> {
  const held = await em.find(UserRole, { userId: { $in: [...userIds] } })
  const roleIds = [...new Set(held.map(({ roleId }) => roleId))]
  const roles = new Map((await em.find(Role, { id: { $in: roleIds } })).map((role) => [role.id, role]))
  const policies = Map.groupBy(held, ({ userId }) => userId)
  return new Map(
    [...policies].map(([userId, rows]) => [
      userId,
      strictestPolicy(rows.flatMap(({ roleId }) => roles.get(roleId) ?? [])),
    ]),
  )
}

/** Returns the strictest rules of roles. */
export function strictestPolicy(
  roles: readonly Pick<Role, 'secondFactorFrom' | 'sessionLifetime' | 'sessionIdleTimeout'>[],
): SignInPolicy {
  return {
    ...strictest(
      'secondFactorFrom',
      roles.map(({ secondFactorFrom }) => secondFactorFrom?.getTime()),
    ),
    ...strictest(
      'sessionLifetime',
      roles.map(({ sessionLifetime }) => sessionLifetime),
    ),
    ...strictest(
      'sessionIdleTimeout',
      roles.map(({ sessionIdleTimeout }) => sessionIdleTimeout),
    ),
  }
}

function strictest<Name extends keyof SignInPolicy>(
  name: Name,
  values: readonly (number | bigint | null | undefined)[],
) {
  const given = values.flatMap((value) => (value == null ? [] : [Number(value)]))
  return given.length === 0 ? {} : ({ [name]: Math.min(...given) } as Pick<SignInPolicy, Name>)
}
