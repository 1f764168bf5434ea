import { raw } from '@mikro-orm/core'
import { type Database, exactInteger } from '@plinth/database'

/** Holders that are listed by their ids; of more, each user in the order of the list is asked, and soon one is found. */
const few = 10_000

/** Condition for users who hold a role, whatever their number. */
export async function holdsRole(db: Database, roleId: number): Promise<object> {
  const [row] = await db.query<{ holders: unknown }>(
    'select count(*) as holders from (select 1 as one from iam_user_role where role_id = ? limit ?) as held',
    [roleId, few + 1],
  )
  const held = (alias: string) =>
    exactInteger(row?.holders) <= few
      ? `${alias}.id in (select held.user_id from iam_user_role held where held.role_id = ?)`
      : `exists (select 1 from iam_user_role held where held.user_id = ${alias}.id and held.role_id = ?)`
  return { [raw(held, [roleId])]: [] }
}
