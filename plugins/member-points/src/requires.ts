import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import { kernel, optional } from '@plinth/kernel'
import { ledger } from '@plinth/money'
import { scheduler } from '@plinth/scheduler'
import { site } from '@plinth/site'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  database,
  events,
  http,
  site,
  identity,
  ledger,
  i18n: optional(i18n),
  scheduler: optional(scheduler),
} as const
