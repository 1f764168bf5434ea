import { raw } from '@mikro-orm/core'
import { type Database, exactInteger } from '@plinth/database'

/** Holders that are listed by their ids, and counted; of more, each user in the order of the list is asked, and soon one is found. */
export const few = 10_000

/** Users who hold a role. */
interface Holders {
  /** Condition for them, whatever their number. */
  readonly condition: object
  /** How many they are; 10,001 stands for more than 10,000. */
  readonly count: number
}

export async function holdersOf(db: Database, roleId: number): Promise<Holders> {
  const [row] = await db.query<{ holders: unknown }>(
    'select count(*) as holders from (select 1 as one from iam_user_role where role_id = ? limit ?) as held',
    [roleId, few + 1],
  )
  const count = exactInteger(row?.holders)
  const held = (alias: string) =>
    count <= few
      ? `${alias}.id in (select held.user_id from iam_user_role held where held.role_id = ?)`
      : `exists (select 1 from iam_user_role held where held.user_id = ${alias}.id and held.role_id = ?)`
  return { condition: { [raw(held, [roleId])]: [] }, count }
}
