import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/**
 * Removes old versions. The published version has no end, so it stays. A message waits at most 366 days, and the minimum
 * retention is longer, so no waiting message loses its version.
 */
export const purge = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.template.versions',
  {
    displayName: { en: 'Remove old template versions', 'zh-CN': '清理旧模板版本' },
    old: ({ config, clock }) => [
      rowsBefore(
        'message_template_version',
        'superseded_at',
        new Date(clock.now() - config.get('platform.template.versions.retention')),
      ),
    ],
  },
)
