import { olderThan, purgeTask } from '@plinth/coordination'
import type { Database, RemovedRows } from '@plinth/database'
import type { OptionalRef } from '@plinth/kernel'
import type { config } from './config.ts'
import { changeCounts, kindOf, tallied } from './send-log-counts.ts'
import { releaseInterrupted } from './send-log-retries.ts'

type Uses = { requires: { database: OptionalRef<Database> }; config: typeof config }

const tally = {
  columns: ['status', 'restorable'],
  subtract: (db: Database, groups: readonly RemovedRows[]) =>
    changeCounts(db, tallied(groups.map(({ rows, values }) => [kindOf(values), -rows]))),
}

/** Removes rows past their retention, the oldest first, and gives back those whose retry was cut off. */
export const purge = purgeTask<Uses>('platform.notification.send-log', {
  displayName: { en: 'Remove old rows of the send log', 'zh-CN': '清理旧的发送记录' },
  old({ config, clock }) {
    const retention = config.get('platform.notification.send-log.retention')
    if (retention === 0) return []
    const rows = olderThan('notification_send_log', 'created_at', new Date(clock.now() - retention))
    return [{ ...rows, orderBy: 'created_at, id', tally }]
  },
  also: ({ clock }, db) => releaseInterrupted(db, clock),
})
