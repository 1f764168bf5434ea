import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { type Database, type ExpiredRows, firstIdAt, purgeOldRows, type RemovedRows } from '@plinth/database'
import type { ServiceRef } from '@plinth/kernel'
import type { keys } from './config.ts'
import { inClauseLists } from './preferences/user-preferences.ts'

type Uses = { requires: { database: ServiceRef<Database> }; config: typeof keys }

const table = 'notification_inbox_item'
/** More broadcasts are removed by the next purge, the oldest first, so that reading an inbox stays fast. */
const maxBroadcasts = 5_000

/** Removes each stored text to which no inbox item refers any more, together with its attachments. */
export const orphanedContentCleanup = {
  columns: ['content_id'],
  async subtract(db: Database, groups: readonly RemovedRows[]) {
    for (const { places, values } of inClauseLists(groups.map(({ values }) => Number(values['content_id'])))) {
      await db.execute(
        `delete from notification_inbox_content where id in (${places}) and audience is null
         and not exists (select 1 from ${table} where content_id = notification_inbox_content.id)`,
        values,
      )
      await db.execute(
        `delete from notification_inbox_attachment where content_id in (${places})
         and not exists (select 1 from notification_inbox_content where id = notification_inbox_attachment.content_id)`,
        values,
      )
    }
  },
}

export const inboxRowsOfUser = (userId: number): readonly ExpiredRows[] => [
  { table, tally: orphanedContentCleanup, where: 'owner_id = ?', parameters: [userId], orderBy: 'owner_id, id' },
  { table: 'notification_inbox_mark', where: 'user_id = ?', parameters: [userId], orderBy: 'user_id, id' },
]

/** Broadcasts with a smaller id than `endId`. Their marks come last, because without a mark a broadcast is unread. */
const broadcastsBefore = (endId: number): readonly ExpiredRows[] => [
  {
    table: 'notification_inbox_content',
    dependents: [{ table: 'notification_inbox_attachment', column: 'content_id' }],
    where: `audience = 'all' and id < ?`,
    parameters: [endId],
    orderBy: 'audience, id',
  },
  {
    table: 'notification_inbox_mark',
    where: 'content_id < ?',
    parameters: [endId],
    orderBy: 'content_id, user_id',
  },
  rowsBefore('notification_inbox_opt_out', 'until_id', endId),
]

export const purgeInbox = createPurgeTask<Uses>('platform.notification.inbox', {
  displayName: { en: 'Remove old notifications from inboxes', 'zh-CN': '清理站内信旧通知' },
  old({ config, clock }) {
    const retention = config.get('platform.notification.inbox.retention')
    const longest = config.get('platform.notification.inbox.unread-retention')
    const idBefore = (ms: number) => firstIdAt(clock.now() - ms)
    const closed = [
      { ...rowsBefore(table, 'read_at', new Date(clock.now() - retention)), tally: orphanedContentCleanup },
      {
        table,
        tally: orphanedContentCleanup,
        where: 'owner_id is null and id < ?',
        orderBy: 'owner_id, id',
        parameters: [idBefore(retention)],
      },
    ]
    const all = {
      table,
      tally: orphanedContentCleanup,
      where: 'id < ?',
      parameters: [idBefore(longest)],
      orderBy: 'id',
    }
    return [...(retention === 0 ? [] : closed), ...(longest === 0 ? [] : [all, ...broadcastsBefore(idBefore(longest))])]
  },
  async also(context, db) {
    const [oldest] = await db.query<{ id: unknown }>(
      `select id from notification_inbox_content where audience = 'all' order by id desc limit 1 offset ${maxBroadcasts - 1}`,
    )
    const surplus = oldest === undefined ? [] : broadcastsBefore(Number(oldest.id))
    for (const rows of surplus) await purgeOldRows(db, rows, context)
  },
})
