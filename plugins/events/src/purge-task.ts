import type { database } from '@plinth/database'
import type { ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import { OutboxDelivery, OutboxEvent } from './entities.ts'

/** Small enough not to hold up others that write. */
const batch = 500

/** Removes delivered and skipped events past their retention, and keys without events. */
export const purgeTask: ScheduledTask<{ readonly database: typeof database }, typeof keys> = {
  name: 'events.purge',
  displayName: { en: 'Remove old events from the outbox', 'zh-CN': '清理发件箱中的旧事件' },
  fixedDelay: 'platform.events.purge.fixed-delay',
  autoStartup: 'platform.events.purge.auto-startup',
  async run({ services: { database: db }, config, clock, signal }) {
    const before = new Date(clock.now() - config.get('platform.events.retention'))
    let found = batch
    while (found === batch && !signal.aborted) {
      found = await db.transactional(async (em) => {
        const where = { status: { $in: ['delivered', 'skipped'] as const }, finishedAt: { $lt: before } }
        const old = await em.find(OutboxEvent, where, { fields: ['id'], orderBy: { finishedAt: 'asc' }, limit: batch })
        const ids = old.map(({ id }) => id)
        if (ids.length === 0) return 0
        await em.nativeDelete(OutboxDelivery, { eventId: { $in: ids } })
        await em.nativeDelete(OutboxEvent, { id: { $in: ids } })
        return ids.length
      })
    }
    found = batch
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
    }
  },
}
