import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { identity } from '@plinth/iam'
import { kernel, optional } from '@plinth/kernel'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre } from '@plinth/system-config'

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
  events: optional(events),
} as const
