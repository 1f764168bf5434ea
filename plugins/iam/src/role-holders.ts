import { raw } from '@mikro-orm/core'

/** Condition for users who hold a role. The database looks each up: a role may have any number of holders. */
export function holdsRole(roleId: number): object {
  const held = (alias: string) =>
    `exists (select 1 from iam_user_role held where held.user_id = ${alias}.id and held.role_id = ?)`
  return { [raw(held, [roleId])]: [] }
}
