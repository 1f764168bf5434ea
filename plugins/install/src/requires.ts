import { database, databaseSecret } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { accounts, passwords } from '@plinth/iam'
import { configAdmin, declaredTasks, kernel, optional, service } from '@plinth/kernel'
import { redisProbe, redisSecret } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre } from '@plinth/system-config'
import { installPage } from './contract.ts'
import type { StorageFacts } from './preflight/index.ts'

/** The storage, as far as the environment checks look at it. */
const storage = service<StorageFacts>('storage', { from: '@plinth/storage' })

/** Services that the plugin uses. */
export const requires = {
  kernel,
  configAdmin,
  declaredTasks,
  database,
  databaseSecret,
  http,
  site,
  accounts,
  passwords,
  configCentre,
  events,
  i18n: optional(i18n),
  redis: optional(redisProbe),
  redisSecret: optional(redisSecret),
  storage: optional(storage),
  page: optional(installPage),
} as const
