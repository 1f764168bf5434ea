import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { kernel } from '@plinth/kernel'

/** Services that the plugin uses. */
export const requires = { kernel, http, database } as const
