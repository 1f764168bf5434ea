import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import type { database } from '@plinth/database'
import type { keys } from './config.ts'

/** Removes old deliveries and secrets whose grace period is over. Holds waiting deliveries of deleted endpoints. */
export const purgeDeliveries = createPurgeTask<{ requires: { database: typeof database }; config: typeof keys }>(
  'platform.webhooks',
  {
    displayName: { en: 'Remove old webhook deliveries', 'zh-CN': '清除过期的 Webhook 投递记录' },
    old: ({ config, clock }) => [
      rowsBefore('webhook_delivery', 'created_at', new Date(clock.now() - config.get('platform.webhooks.retention'))),
    ],
    async also({ clock }, db) {
      const now = new Date(clock.now())
      const forget =
        'update webhook_endpoint set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
      await db.execute(forget, [null, null, now])
      // An event that was handled while its endpoint was deleted, or an endpoint whose owner was erased.
      await db.execute(
        `update webhook_delivery set status = 'held', lease_token = ?, finished_at = ? where status = 'pending'
           and not exists (select 1 from webhook_endpoint e where e.id = webhook_delivery.endpoint_id)`,
        [null, now],
      )
    },
  },
)
