import deliveryReceipts from '@plinth/delivery-receipts'
import digest from '@plinth/digest'
import inbox from '@plinth/inbox'
import type { Plugin } from '@plinth/kernel'
import notification from '@plinth/notification'
import { notificationChannels } from '@plinth/notification-channels'
import notificationLinkage from '@plinth/notification-linkage'
import notificationRules from '@plinth/notification-rules'
import push from '@plinth/push'
import social from '@plinth/social'
import suppression from '@plinth/suppression'
import { webhookProviders } from '@plinth/webhook-providers'

/** Notifications on all channels and by all webhook providers, the inbox and the rules. Requires `operations`. */
export const notifications: readonly Plugin[] = [
  notification,
  inbox,
  digest,
  notificationRules,
  notificationLinkage,
  social,
  ...notificationChannels,
  ...webhookProviders,
  deliveryReceipts,
  suppression,
  push,
]
