import { backOffice } from '@plinth/admin'
import { database, purgeOldRows, type WithDatabase } from '@plinth/database'
import { events, type Handler } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, userDeleted } from '@plinth/iam'
import { definePlugin, optional, personalData } from '@plinth/kernel'
import { storage } from '@plinth/storage'
import { inboxPages, unreadMessages } from './admin-pages.ts'
import { keys } from './config.ts'
import { inbox, inboxEmbedding, notificationPreferences } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { embedRoutes } from './embed/embed-routes.ts'
import { allowEmbedding, Embedding, openToEmbedding } from './embed/embedding.ts'
import { AttachmentRow, ContentRow, ItemRow, PreferenceRow } from './entities.ts'
import { ContentReader } from './items/content-reader.ts'
import { InboxReader } from './items/inbox-reader.ts'
import { inboxRoutes } from './items/inbox-routes.ts'
import { ItemWriter, inboxMetrics } from './items/item-writer.ts'
import { ReadState } from './items/read-state.ts'
import { recordRoutes } from './items/record-routes.ts'
import { createInbox } from './migrations/0001-create-inbox.ts'
import { createPreference } from './migrations/0002-create-preference.ts'
import { addReaderFormat } from './migrations/0003-add-reader-format.ts'
import { inboxTables } from './personal-data.ts'
import { preferenceRoutes } from './preferences/preference-routes.ts'
import { UserPreferences } from './preferences/user-preferences.ts'
import { inboxRowsOfUser, purgeInbox } from './tasks.ts'

/**
 * Plugin for inboxes. It does not depend on `@plinth/notification`: that plugin reads the preferences, and the channel
 * `database` adds the messages.
 */
export default definePlugin({
  id: 'notification.inbox',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    database,
    events,
    http,
    identity,
    i18n: optional(i18n),
    storage: optional(storage),
    metrics: optional(metrics),
  },
  provides: [inbox, notificationPreferences, inboxEmbedding],
  contributes: [
    personalData.of(({ database }: WithDatabase) => ({ 'notification.inbox': inboxTables(database) })),
    ...backOffice({ pages: inboxPages, attention: [unreadMessages] }),
  ],
  config: keys,
  permissions,
  messages,
  migrations: [createInbox, createPreference, addReaderFormat],
  entities: [ContentRow, ItemRow, AttachmentRow, PreferenceRow],
  scheduledTasks: [purgeInbox],
  setup({ services, config, log, provide, onStop }) {
    const { database: db, events, http, identity, i18n: translator, storage } = services
    const { clock } = db
    const counters = inboxMetrics(services.metrics)
    onStop(counters.stop)
    const preferences = new UserPreferences(db, clock)
    const contents = new ContentReader({ db, translator, storage, log })
    const reader = new InboxReader(db, contents, identity)
    const writer = new ItemWriter({ db, events, preferences, contents, metrics: counters, clock, log })
    const state = new ReadState({ db, events, contents, clock })

    provide(notificationPreferences, preferences)
    provide(inbox, {
      add: (message, options) => writer.add(message, options),
      present: (content, locale) => contents.present(content, locale),
      unreadCount: (userId) => reader.unreadCount(userId),
    })
    const embedding = new Embedding(identity, () => config.get('platform.notification.inbox.embed.origins'))
    provide(inboxEmbedding, embedding)
    http.addRoutes(openToEmbedding(inboxRoutes), { reader, state })
    http.addRoutes(openToEmbedding(preferenceRoutes), { preferences })
    http.addRoutes(embedRoutes, { embedding })
    http.everyRequest(allowEmbedding([...inboxRoutes, ...preferenceRoutes], embedding))
    http.addRoutes(recordRoutes, { reader, contents })
    const forgetUser: Handler<{ readonly userId: number }> = async ({ payload: { userId } }, { signal }) => {
      await purgeOldRows(db, inboxRowsOfUser(userId), { signal })
      signal.throwIfAborted()
      await preferences.forget(userId)
    }
    events.on(userDeleted, 'notification.inbox.forget-user', forgetUser, { lane: 'database' })
  },
})
