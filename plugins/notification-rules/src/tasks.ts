import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { Database } from '@plinth/database'
import type { ServiceRef } from '@plinth/kernel'
import type { keys } from './config.ts'

type Uses = { requires: { database: ServiceRef<Database> }; config: typeof keys }

export const purge = createPurgeTask<Uses>('platform.notification.rules', {
  displayName: { en: 'Remove alerts that have ended', 'zh-CN': '清理已结束的告警' },
  old: ({ clock }) => [
    { ...rowsBefore('notification_rule_state', 'expires_at_ms', clock.now()), orderBy: 'expires_at_ms, id' },
  ],
})
