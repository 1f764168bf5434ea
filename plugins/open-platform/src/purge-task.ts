import type { Database } from '@plinth/database'
import type { Clock, ScheduledTask } from '@plinth/kernel'
import { dayOf } from './call-records.ts'
import type { keys } from './config.ts'
import type { requires } from './requires.ts'

/** Records removed by one statement, so that no table is locked for long. */
const batchSize = 1000

/** Removes records past their retention, and secrets past their grace period. */
export const purgeTask: ScheduledTask<typeof requires, typeof keys> = {
  name: 'open-platform.purge',
  displayName: { en: 'Remove old open-platform records', 'zh-CN': '清除过期的开放平台记录' },
  fixedDelay: 'platform.open-platform.purge.fixed-delay',
  autoStartup: 'platform.open-platform.purge.auto-startup',
  async run({ services: { database }, config, clock, signal }) {
    await forgetOldSecrets(database, clock)
    const now = clock.now()
    const oldestCall = dayOf(new Date(now - config.get('platform.open-platform.metering.retention')))
    const oldestAudit = new Date(now - config.get('platform.open-platform.audit.retention'))
    await removeInBatches(database, 'open_call', 'day', oldestCall, signal)
    await removeInBatches(database, 'open_app_audit', 'occurred_at', oldestAudit, signal)
  },
}

async function forgetOldSecrets(database: Database, clock: Pick<Clock, 'now'>): Promise<void> {
  const forget = 'update open_app set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
  await database.execute(forget, [null, null, new Date(clock.now())])
}

async function removeInBatches(
  database: Database,
  table: 'open_call' | 'open_app_audit',
  column: 'day' | 'occurred_at',
  oldest: string | Date,
  signal: AbortSignal,
): Promise<void> {
  const olds = `select id from ${table} where ${column} < ? limit ${batchSize}`
  // Through a table of its own: MySQL deletes nothing from what it selects from.
  const remove = `delete from ${table} where id in (select id from (${olds}) as olds)`
  while (!signal.aborted && (await database.execute(remove, [oldest])) === batchSize);
}
