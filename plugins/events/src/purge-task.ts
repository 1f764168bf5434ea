import { setImmediate as nextTurn } from 'node:timers/promises'
import { type database, purgeOldRows } from '@plinth/database'
import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'

/** Keys that one step looks at. */
const batch = 50

/** Removes delivered and skipped events past their retention, and keys without events. */
export const purgeTask: ScheduledTask<{ readonly database: typeof database }, typeof keys> = {
  name: 'events.purge',
  displayName: { en: 'Remove old events from the outbox', 'zh-CN': '清理发件箱中的旧事件' },
  fixedDelay: 'platform.events.purge.fixed-delay',
  autoStartup: 'platform.events.purge.auto-startup',
  async run({ services: { database: db }, config, clock, signal }) {
    const before = new Date(clock.now() - config.get('platform.events.retention'))
    // One status at a time: the index gives both together in no order.
    for (const status of ['delivered', 'skipped']) {
      const rows = {
        table: 'outbox_event',
        where: 'status = ? and finished_at < ?',
        parameters: [status, before],
        orderBy: 'finished_at',
        dependents: [{ table: 'outbox_delivery', column: 'event_id' }],
      }
      await purgeOldRows(db, rows, { signal })
    }
    let found = batch
    while (found === batch && !signal.aborted) {
      const unused = await db.query<{ stream_key: string; last_position: number | string }>(
        `select s.stream_key, s.last_position from outbox_stream s where s.updated_at < ?
           and not exists (select 1 from outbox_event e where e.stream_key = s.stream_key)
         order by s.updated_at limit ${batch}`,
        [before],
      )
      // Somebody may publish under the key meanwhile: its position has moved on then.
      for (const { stream_key, last_position } of unused) {
        await db.execute('delete from outbox_stream where stream_key = ? and last_position = ?', [
          stream_key,
          Number(last_position),
        ])
      }
      found = unused.length
      await nextTurn()
    }
  },
}
