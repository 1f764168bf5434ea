import database from '@plinth/database'
import events from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import type { Plugin } from '@plinth/kernel'
import mail from '@plinth/mail'
import outgoingHttp from '@plinth/outgoing-http'
import scheduler from '@plinth/scheduler'
import sharedStore from '@plinth/shared-store'
import site from '@plinth/site'
import sms from '@plinth/sms'
import storage from '@plinth/storage'

/** Services that most plugins require: site, HTTP, database, events, scheduled tasks, files, mail and SMS. */
export const platform: readonly Plugin[] = [
  i18n,
  site,
  http,
  outgoingHttp,
  database,
  sharedStore,
  events,
  scheduler,
  storage,
  mail,
  sms,
]
