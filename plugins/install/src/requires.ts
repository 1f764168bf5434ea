import { database, databaseSecret } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { accounts, passwords } from '@plinth/iam'
import { type Clock, kernel, type Logger, optional, type ServicesOf, service } from '@plinth/kernel'
import { configAdmin, declaredTasks } from '@plinth/kernel/host'
import { redisProbe, redisSecret } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre } from '@plinth/system-config'
import type { InstallConfig } from './config.ts'
import { installPage } from './contract.ts'
import type { StorageCheckFunctions } from './preflight/context.ts'

const storage = service<StorageCheckFunctions>('storage', { from: '@plinth/storage' })

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

export interface InstallServices extends ServicesOf<typeof requires> {
  readonly plugin: string
  readonly config: InstallConfig
  /** Clock of the database. */
  readonly clock: Clock
  /** Clock of the host, which the environment checks compare with other clocks. */
  readonly hostClock: Clock
  readonly log: Logger
  /** Replaces secrets in a text. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  /** Root directory of the product. */
  readonly root: string
  /** Aborted when the product stops. */
  readonly signal: AbortSignal
}
