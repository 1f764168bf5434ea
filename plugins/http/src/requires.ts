import { i18n } from '@plinth/i18n'
import { kernel, optional } from '@plinth/kernel'
import { site } from '@plinth/site'
import { databaseWaits } from './metrics.ts'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  i18n: optional(i18n),
  site: optional(site),
  database: optional(databaseWaits),
} as const
