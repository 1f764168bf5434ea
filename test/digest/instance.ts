import databasePlugin, { database } from '@plinth/database'
import { type ManualClock, manualClock } from '@plinth/dev/testing'
import { startMigrated } from '@plinth/dev/testing/database'
import digestPlugin, { type DigestItem, digests } from '@plinth/digest'
import eventsPlugin from '@plinth/events'
import httpPlugin from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin from '@plinth/iam'
import inboxPlugin, { notificationPreferences } from '@plinth/inbox'
import { definePlugin, defineProduct, type JsonValue, notificationChannel } from '@plinth/kernel'
import notificationPlugin, { notification } from '@plinth/notification'
import { pino } from 'pino'
import { DigestCloser } from '../../plugins/digest/src/closer.ts'
import { Readers } from '../../plugins/digest/src/readers.ts'

export type Config = Readonly<Record<string, JsonValue>>

/** What an instance does. `now` is the time of the product, in milliseconds since the epoch. */
export type Command = { readonly now: number } & ({ readonly add: DigestItem } | { readonly close: true })

/** The messages are only enqueued, so the channel is never called. */
const mail = definePlugin({
  id: 'test.mail',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationChannel],
  setup: ({ contribute }) =>
    contribute(notificationChannel, 'mail', {
      displayName: 'mail',
      recipientKinds: ['user'],
      traits: { idempotent: false },
      send: async () => ({ outcome: 'accepted' }),
    }),
})

/** Starts an instance that does nothing without a command. */
export async function startInstance(config: Config, startMs: number) {
  const clock: ManualClock = manualClock(startMs)
  const product = defineProduct({
    name: 'digest-streams',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      i18nPlugin,
      iamPlugin,
      notificationPlugin,
      inboxPlugin,
      mail,
      digestPlugin,
    ],
    config: { ...config, 'platform.http.port': 0, 'platform.notification.default-channel': 'mail' },
  })
  const log = pino({ level: 'error' })
  const running = await startMigrated(product, { clock, roles: ['web'], logger: log })
  const db = running.service(database)
  const preferences = running.service(notificationPreferences)
  const readers = new Readers({ preferences, site: undefined })
  const closer = new DigestCloser({
    db,
    notification: running.service(notification),
    readers,
    log,
    declared: new Map(),
  })
  const run = async (command: Command): Promise<void> => {
    clock.shiftWallClock(Math.max(0, command.now - clock.now()))
    if ('add' in command) await running.service(digests).add(command.add)
    else await closer.closeDue(new AbortController().signal)
  }
  return { db, preferences, run, stop: () => running.stop('the test ended') }
}
