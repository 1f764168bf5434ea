import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'
import { softBounces } from './policy.ts'

/** Removes suppressions that have ended, and soft bounces that no longer count. */
export const purgeSuppressions = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.suppression',
  {
    displayName: { en: 'Remove ended suppressions', 'zh-CN': '清除已结束的禁发记录' },
    old({ config, clock }) {
      const keepMs = config.get('platform.suppression.retention')
      const before = (ms: number) => new Date(clock.now() - ms)
      return [
        rowsBefore('suppression', 'ends_at', before(keepMs)),
        rowsBefore('suppression_soft_bounce', 'updated_at', before(Math.max(keepMs, softBounces.withinMs))),
      ]
    },
  },
)
