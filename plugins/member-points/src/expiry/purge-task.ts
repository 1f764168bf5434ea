import { olderThan, purgeTask } from '@plinth/coordination'
import { type database, firstIdAt } from '@plinth/database'
import type { keys } from '../config.ts'

type Uses = { requires: { database: typeof database }; config: typeof keys }

/** Removes records of scans past their retention; one that is cut off is still to be gone on with. */
export const purge = purgeTask<Uses>('platform.member-points', {
  displayName: { en: 'Remove old expiry runs', 'zh-CN': '清理旧的过期批次' },
  old({ config, clock }) {
    const before = firstIdAt(clock.now() - config.get('platform.member-points.expire.retention'))
    const old = olderThan('points_expire_batch', 'id', before)
    return [{ ...old, where: `${old.where} and open_asset is null` }]
  },
})
