import { olderThan, purgeTask } from '@plinth/coordination'
import type { keys } from '../config.ts'
import type { requires } from '../requires.ts'

type Uses = { requires: typeof requires; config: typeof keys }

/** Removes records past their retention, and secrets past their grace period. */
export const purge = purgeTask<Uses>('platform.open-platform', {
  displayName: { en: 'Remove old open-platform records', 'zh-CN': '清除过期的开放平台记录' },
  old({ services: { site }, config, clock }) {
    const oldest = site.dayOf(new Date(clock.now() - config.get('platform.open-platform.metering.retention')))
    return [olderThan('open_call', 'day', oldest), olderThan('open_call_day', 'day', oldest)]
  },
  async also({ clock }, db) {
    const forget =
      'update open_app set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
    await db.execute(forget, [null, null, new Date(clock.now())])
  },
})
