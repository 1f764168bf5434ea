import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { Database } from '@plinth/database'
import type { ServiceRef } from '@plinth/kernel'
import type { keys } from './config.ts'

type Uses = { requires: { database: ServiceRef<Database> }; config: typeof keys }

export const purgeCalls = createPurgeTask<Uses>('platform.idempotency', {
  displayName: { en: 'Remove old idempotency keys', 'zh-CN': '清理旧的幂等键' },
  old: ({ config, clock }) => [
    rowsBefore('idempotency_call', 'created_at', new Date(clock.now() - config.get('platform.idempotency.retention'))),
  ],
})
