import { type Database, purgeOldRows } from '@plinth/database'
import type { Clock, ScheduledTask } from '@plinth/kernel'
import type { keys } from './config.ts'
import type { requires } from './requires.ts'

/** Removes records past their retention, and secrets past their grace period. */
export const purgeTask: ScheduledTask<typeof requires, typeof keys> = {
  name: 'open-platform.purge',
  displayName: { en: 'Remove old open-platform records', 'zh-CN': '清除过期的开放平台记录' },
  fixedDelay: 'platform.open-platform.purge.fixed-delay',
  autoStartup: 'platform.open-platform.purge.auto-startup',
  async run({ services: { database, site }, config, clock, signal }) {
    await forgetOldSecrets(database, clock)
    const oldest = site.dayOf(new Date(clock.now() - config.get('platform.open-platform.metering.retention')))
    for (const table of ['open_call', 'open_call_day']) {
      const rows = { table, where: 'day < ?', parameters: [oldest], orderBy: 'day' }
      await purgeOldRows(database, rows, { signal })
    }
  },
}

async function forgetOldSecrets(database: Database, clock: Pick<Clock, 'now'>): Promise<void> {
  const forget = 'update open_app set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
  await database.execute(forget, [null, null, new Date(clock.now())])
}
