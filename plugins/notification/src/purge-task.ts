import type { Database } from '@plinth/database'
import type { OptionalRef, ScheduledTask } from '@plinth/kernel'
import type { config } from './config.ts'
import { SendLog } from './entities.ts'
import { releaseInterrupted } from './send-log-retries.ts'

/** Small enough not to hold up others that write. */
const batch = 500

/** Removes rows past their retention, the oldest first, and gives back those whose retry was cut off. */
export const purgeTask: ScheduledTask<{ readonly database: OptionalRef<Database> }, typeof config> = {
  name: 'notification.send-log.purge',
  displayName: { en: 'Remove old rows of the send log', 'zh-CN': '清理旧的发送记录' },
  fixedDelay: 'platform.notification.send-log.purge.fixed-delay',
  autoStartup: 'platform.notification.send-log.purge.auto-startup',
  async run({ services: { database: db }, config, clock, signal }) {
    if (db === undefined) return
    await releaseInterrupted(db, clock)
    const retention = config.get('platform.notification.send-log.retention')
    if (retention === 0) return
    const old = { createdAt: { $lt: new Date(clock.now() - retention) } }
    let found = batch
    while (found === batch && !signal.aborted) {
      const rows = await db.fork().find(SendLog, old, { fields: ['id'], orderBy: { createdAt: 'asc' }, limit: batch })
      found = rows.length
      if (found > 0) await db.fork().nativeDelete(SendLog, { id: { $in: rows.map(({ id }) => id) } })
    }
  },
}
