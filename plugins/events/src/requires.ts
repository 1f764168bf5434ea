import { database } from '@plinth/database'
import { http, metrics } from '@plinth/http'
import { kernel, optional } from '@plinth/kernel'

/** Services that the plugin uses. */
export const requires = { kernel, database, http: optional(http), metrics: optional(metrics) } as const
