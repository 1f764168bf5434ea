import { type Database, purgeOldRows } from '@plinth/database'
import type { OptionalRef, ScheduledTask } from '@plinth/kernel'
import type { config } from './config.ts'
import { releaseInterrupted } from './send-log-retries.ts'

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
    const before = new Date(clock.now() - retention)
    const rows = {
      table: 'notification_send_log',
      where: 'created_at < ?',
      parameters: [before],
      orderBy: 'created_at',
    }
    await purgeOldRows(db, rows, { signal })
  },
}
