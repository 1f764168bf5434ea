import { approvals } from '@plinth/approval'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { kernel, optional } from '@plinth/kernel'
import { payments } from '@plinth/money/payments'
import { notification } from '@plinth/notification'
import { chains } from '@plinth/web3'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  database,
  http,
  events,
  approvals,
  payments,
  chains,
  notification: optional(notification),
} as const
