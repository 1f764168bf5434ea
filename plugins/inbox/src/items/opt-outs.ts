import { type Database, exactInteger, insertRows } from '@plinth/database'
import { OptOutRow } from '../entities.ts'

/** Category of an opt-out of a user who has switched off the inbox. */
export const allCategories = 'all'

/** Returns the id of the newest broadcast; 0 if there is none. */
export async function newestBroadcastId(db: Pick<Database, 'query'>): Promise<number> {
  const newest = `select max(id) as id from notification_inbox_content where audience = 'all'`
  const [row] = await db.query<{ id: unknown }>(newest)
  return exactInteger(row?.id ?? null)
}

/**
 * Records which categories a user does not want in the inbox from now on. Broadcasts that exist now are not affected.
 * Must be called in the transaction that changes the preferences, after it has locked their row. A broadcast that is
 * committed later has a larger id than all earlier ones, so the order of change and broadcast is exact.
 */
export async function recordOptOuts(db: Database, userId: number, unwanted: readonly string[]): Promise<void> {
  const em = db.fork()
  const open = await em.find(OptOutRow, { userId, untilId: null })
  const started = unwanted.filter((category) => !open.some((one) => one.category === category))
  const ended = open.filter(({ category }) => !unwanted.includes(category))
  if (started.length + ended.length === 0) return
  const newest = await newestBroadcastId(db)
  const rows = started.map((category) => ({ id: db.newId(), userId, category, afterId: newest, untilId: null }))
  await insertRows(db, OptOutRow, rows)
  const idsOf = (rows: readonly OptOutRow[]) => ({ id: { $in: rows.map(({ id }) => id) } })
  await em.nativeDelete(OptOutRow, idsOf(ended.filter(({ afterId }) => afterId >= newest)))
  await em.nativeUpdate(OptOutRow, idsOf(ended.filter(({ afterId }) => afterId < newest)), { untilId: newest })
}

/**
 * Returns an SQL condition that a user had switched off the category of a broadcast. @param user expression for the id of the
 * user @param id expression for the id of the broadcast @param isConcerned condition on the category `o.category`
 */
export const optOutSql = (user: string, id: string, isConcerned: string) =>
  `exists (select 1 from notification_inbox_opt_out o where o.user_id = ${user} and ${isConcerned}
     and o.after_id < ${id} and (o.until_id is null or o.until_id >= ${id}))`
