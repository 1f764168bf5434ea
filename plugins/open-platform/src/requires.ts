import { database } from '@plinth/database'
import { http, site } from '@plinth/http'
import { identity } from '@plinth/iam'
import { kernel } from '@plinth/kernel'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { configCentre } from '@plinth/system-config'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  http,
  site,
  database,
  identity,
  rateLimiter,
  identityResolvers,
  sharedStore,
  configCentre,
} as const
