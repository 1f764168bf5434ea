import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import { notificationPreferences } from '@plinth/inbox'
import { kernel, optional } from '@plinth/kernel'
import { site } from '@plinth/site'
import { templates } from '@plinth/template'

/** Services that the plugin uses. */
export const requires = {
  kernel,
  http: optional(http),
  metrics: optional(metrics),
  database: optional(database),
  events: optional(events),
  preferences: optional(notificationPreferences),
  identity: optional(identity),
  i18n: optional(i18n),
  site: optional(site),
  templates: optional(templates),
} as const
