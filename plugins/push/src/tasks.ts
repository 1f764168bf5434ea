import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/** Ends devices that were not registered again, and removes old rows. */
export const purgeDevices = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.push',
  {
    displayName: { en: 'Remove old push devices', 'zh-CN': '清除过期的推送设备' },
    old({ config, clock }) {
      const before = new Date(clock.now() - config.get('platform.push.device-expiry'))
      return [rowsBefore('push_device', 'ended_at', before), rowsBefore('push_acceptance', 'created_at', before)]
    },
    async also({ config, clock }, db) {
      const before = new Date(clock.now() - config.get('platform.push.device-expiry'))
      await db.execute(
        `update push_device set status = 'expired', target = '', ended_at = ? where status = 'active' and registered_at < ?`,
        [new Date(clock.now()), before],
      )
    },
  },
)
