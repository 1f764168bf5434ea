import { raw } from '@mikro-orm/core'
import { countRows, type Database, type RowCount } from '@plinth/database'

/** Users who hold a role. */
interface Holders {
  /** Condition for them, whatever their number. */
  readonly condition: object
  readonly count: RowCount
}

export async function holdersOf(db: Database, roleId: number): Promise<Holders> {
  const holders = { table: 'iam_user_role', where: 'role_id = ?', parameters: [roleId], orderBy: 'user_id' }
  const count = await countRows(db, holders)
  // Few are listed by their ids; of many each user in the order of the list is asked, and soon one is found.
  const held = (alias: string) =>
    count.isCapped
      ? `exists (select 1 from iam_user_role held where held.user_id = ${alias}.id and held.role_id = ?)`
      : `${alias}.id in (select held.user_id from iam_user_role held where held.role_id = ?)`
  return { condition: { [raw(held, [roleId])]: [] }, count }
}
