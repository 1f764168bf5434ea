import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPurgeTask } from '@plinth/coordination'
import type { Database, database } from '@plinth/database'
import type { ScheduledTaskContext } from '@plinth/kernel'
import type { keys } from './config.ts'

type Uses = { requires: { database: typeof database }; config: typeof keys }

const batch = 50

export const purgeOutbox = createPurgeTask<Uses>('platform.events', {
  displayName: { en: 'Remove old events from the outbox', 'zh-CN': '清理发件箱中的旧事件' },
  old(context) {
    const before = oldest(context)
    // One status per statement, because the index only has an order within one status.
    return ['delivered', 'skipped'].map((status) => ({
      table: 'outbox_event',
      where: 'status = ? and finished_at < ?',
      parameters: [status, before],
      orderBy: 'finished_at',
      dependents: [{ table: 'outbox_delivery', column: 'event_id' }],
    }))
  },
  also: (context, db) => removeUnusedKeys(db, oldest(context), context.signal),
})

const oldest = ({ config, clock }: Pick<ScheduledTaskContext<Uses>, 'config' | 'clock'>) =>
  new Date(clock.now() - config.get('platform.events.retention'))

async function removeUnusedKeys(db: Database, before: Date, signal: AbortSignal): Promise<void> {
  let found = batch
  while (found === batch && !signal.aborted) {
    const unused = await db.query<{ stream_key: string; last_position: number | string }>(
      `select s.stream_key, s.last_position from outbox_stream s where s.updated_at < ?
         and not exists (select 1 from outbox_event e where e.stream_key = s.stream_key)
       order by s.updated_at limit ${batch}`,
      [before],
    )
    // If another process publishes under the key at the same time, the position or the time has changed and the row
    // stays.
    for (const { stream_key, last_position } of unused) {
      await db.execute('delete from outbox_stream where stream_key = ? and last_position = ? and updated_at < ?', [
        stream_key,
        Number(last_position),
        before,
      ])
    }
    found = unused.length
    await nextTurn()
  }
}
