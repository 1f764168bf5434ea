import { backOffice } from '@plinth/admin'
import { database, purgeOldRows, type WithDatabase } from '@plinth/database'
import { events, type Handler } from '@plinth/events'
import { http, metrics } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity, userDeleted } from '@plinth/iam'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { site } from '@plinth/site'
import { storage } from '@plinth/storage'
import { configCentre, PluginEncryptionKey } from '@plinth/system-config'
import { inboxPages, unreadMessages } from './admin-pages.ts'
import { keys, linkKeyName } from './config.ts'
import { inbox, inboxEmbedding, notificationPreferences } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { embedRoutes } from './embed/embed-routes.ts'
import { allowEmbedding, Embedding, openToEmbedding } from './embed/embedding.ts'
import { AttachmentRow, ContentRow, ItemRow, MarkRow, OptOutRow, PreferenceRow } from './entities.ts'
import { Broadcasts } from './items/broadcasts.ts'
import { ContentReader } from './items/content-reader.ts'
import { InboxReader } from './items/inbox-reader.ts'
import { inboxRoutes } from './items/inbox-routes.ts'
import { ItemWriter, inboxMetrics } from './items/item-writer.ts'
import { ReadState } from './items/read-state.ts'
import { recordRoutes } from './items/record-routes.ts'
import { createInbox } from './migrations/0001-create-inbox.ts'
import { createPreference } from './migrations/0002-create-preference.ts'
import { addReaderFormat } from './migrations/0003-add-reader-format.ts'
import { createPreferenceMatrix } from './migrations/0004-create-preference-matrix.ts'
import { createBroadcast } from './migrations/0005-create-broadcast.ts'
import { inboxTables } from './personal-data.ts'
import {
  notificationCategories,
  notificationCategory,
  ownCategories,
  PreferenceTerms,
  preferenceChannel,
} from './preferences/categories.ts'
import { PreferenceCellRow, PreferenceDefaultRow } from './preferences/entities.ts'
import { preferenceLinks, SignedPreferenceLinks } from './preferences/links.ts'
import { matrixPages } from './preferences/matrix-pages.ts'
import { cellRoutes, matrixRoutes } from './preferences/matrix-routes.ts'
import { PreferenceMatrix } from './preferences/preference-matrix.ts'
import { preferencePage, preferencePageLimit } from './preferences/preference-page.ts'
import { preferenceRoutes } from './preferences/preference-routes.ts'
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
    kernel,
    configCentre: optional(configCentre),
    site: optional(site),
    i18n: optional(i18n),
    storage: optional(storage),
    metrics: optional(metrics),
  },
  provides: [inbox, inboxEmbedding, notificationPreferences, notificationCategories, preferenceLinks],
  extensionPoints: [notificationCategory, preferenceChannel],
  contributes: [
    notificationCategory.of(ownCategories),
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ 'notification.inbox': inboxTables(database) })),
    ...backOffice({ pages: [...inboxPages, ...matrixPages], attention: [unreadMessages] }),
  ],
  config: keys,
  permissions,
  messages,
  migrations: [createInbox, createPreference, addReaderFormat, createPreferenceMatrix, createBroadcast],
  entities: [
    ContentRow,
    ItemRow,
    AttachmentRow,
    MarkRow,
    OptOutRow,
    PreferenceRow,
    PreferenceCellRow,
    PreferenceDefaultRow,
  ],
  scheduledTasks: [purgeInbox],
  setup({ plugin: { id: plugin }, services, config, log, provide, contributions, onStop }) {
    const { database: db, events, http, identity, kernel, i18n: translator, storage, site, configCentre } = services
    const { clock } = db
    const counters = inboxMetrics(services.metrics)
    onStop(counters.stop)
    const terms = new PreferenceTerms({
      categories: contributions(notificationCategory),
      channels: contributions(preferenceChannel),
    })
    const preferences = new PreferenceMatrix(db, clock, terms)
    const categories = {
      of: (module: unknown) => terms.of(module),
      all: () => terms.all(),
      isFixed: (channel: string, category: string) => preferences.isFixed(channel, category),
    }
    const stored = () => config.get(linkKeyName)
    const links = new SignedPreferenceLinks({
      key: configCentre && new PluginEncryptionKey({ plugin, name: linkKeyName, centre: configCentre, stored }),
      siteUrl: () => site?.url ?? '',
      lifetimeMs: () => config.get('platform.notification.inbox.preference-link-lifetime'),
      clock,
    })
    const contents = new ContentReader({ db, translator, storage, log })
    const retentionMs = () => config.get('platform.notification.inbox.retention')
    const broadcasts = new Broadcasts({ db, retentionMs })
    const reader = new InboxReader({ db, contents, broadcasts, terms, identity })
    const writer = new ItemWriter({
      db,
      events,
      identity,
      preferences,
      categories,
      contents,
      metrics: counters,
      clock,
      log,
    })
    const state = new ReadState({ db, events, contents, broadcasts, clock })

    provide(notificationPreferences, preferences)
    provide(notificationCategories, categories)
    provide(preferenceLinks, links)
    provide(inbox, {
      add: (message, options) => writer.add(message, options),
      addForAll: (message, options) => writer.addForAll(message, options),
      present: (content, locale) => contents.present(content, locale),
      unreadCount: (userId) => reader.unreadCount(userId),
    })
    const embedding = new Embedding(identity, () => config.get('platform.notification.inbox.embed.origins'))
    provide(inboxEmbedding, embedding)
    http.addRoutes(openToEmbedding(inboxRoutes), { reader, state })
    http.addRoutes(openToEmbedding(preferenceRoutes), { preferences })
    const matrix = { db, kernel, matrix: preferences, terms, links }
    http.addRoutes(openToEmbedding(cellRoutes), matrix)
    http.addRoutes(matrixRoutes, matrix)
    http.addRoutes(embedRoutes, { embedding })
    http.everyRequest(allowEmbedding([...inboxRoutes, ...preferenceRoutes, ...cellRoutes], embedding))
    http.register(preferencePage({ matrix: preferences, terms, links, identity, translator, log }), 'public', [
      preferencePageLimit,
    ])
    http.addRoutes(recordRoutes, { reader, contents })
    const forgetUser: Handler<{ readonly userId: number }> = async ({ payload: { userId } }, { signal }) => {
      for (const rows of inboxRowsOfUser(userId)) await purgeOldRows(db, rows, { signal })
      signal.throwIfAborted()
      await preferences.forget(userId)
    }
    events.on(userDeleted, 'notification.inbox.forget-user', forgetUser, { lane: 'database' })
  },
})
