import { approvals } from '@plinth/approval'
import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { kernel, optional } from '@plinth/kernel'
import { payments } from '@plinth/money/payments'
import { notification } from '@plinth/notification'
import { chains, tokens, walletVerifier } from '@plinth/web3'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  database,
  http,
  events,
  accounts,
  approvals,
  payments,
  chains,
  tokens: optional(tokens),
  walletVerifier: optional(walletVerifier),
  notification: optional(notification),
} as const
