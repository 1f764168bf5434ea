import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/** Removes digests that ended long ago, with their items. */
export const purgeDigests = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.digest',
  {
    displayName: { en: 'Remove old digests', 'zh-CN': '清理旧摘要' },
    old: ({ config, clock }) => [
      {
        ...rowsBefore('digest', 'closed_at', new Date(clock.now() - config.get('platform.digest.retention'))),
        orderBy: 'closed_at, id',
        dependents: [{ table: 'digest_item', column: 'digest_id' }],
      },
    ],
  },
)
