import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/** Removes old receipts, and old subscriptions with their links. */
export const purgeReceipts = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.delivery-receipts',
  {
    displayName: { en: 'Remove old delivery receipts', 'zh-CN': '清除过期的投递回执' },
    old({ config, clock }) {
      const before = new Date(clock.now() - config.get('platform.delivery-receipts.retention'))
      return [
        rowsBefore('delivery_receipt', 'created_at', before),
        rowsBefore('delivery_receipt_confirmation', 'created_at', before),
      ]
    },
  },
)
