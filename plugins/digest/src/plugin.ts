import { backOffice, labelSources } from '@plinth/admin'
import { PollLoop } from '@plinth/coordination'
import { type Database, database, insertMissingRows, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { identity } from '@plinth/iam'
import { notificationPreferences } from '@plinth/inbox'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { notification } from '@plinth/notification'
import { site } from '@plinth/site'
import { templates } from '@plinth/template'
import { needsAttention, pages } from './admin-pages.ts'
import { DigestCloser } from './closer.ts'
import { collectedMessages } from './collected-messages.ts'
import { DigestCollector } from './collector.ts'
import { keys } from './config.ts'
import { type DeclaredDigest, declaredDigests, digests } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { definitions } from './definitions.ts'
import { Definition, Digest, Item } from './entities.ts'
import { definitionLabels } from './label-sources.ts'
import { createDigests } from './migrations/0001-create-digests.ts'
import { previewRoutes } from './preview.ts'
import { Readers } from './readers.ts'
import { purgeDigests } from './tasks.ts'

/** Maximum interval in milliseconds between polls that find nothing. */
const idlePollMs = 5_000
// The items refer to their user through their digest, so they precede it.
const tables = [Item, Digest, Definition]

/** Collects items for people, and sends them in one message. */
export default definePlugin({
  id: 'digest',
  title: { en: 'Digests', 'zh-CN': '摘要' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    http,
    database,
    identity,
    notification,
    preferences: optional(notificationPreferences),
    site: optional(site),
    templates: optional(templates),
    i18n: optional(i18n),
  },
  provides: [digests],
  extensionPoints: [declaredDigests],
  contributes: [
    auditTexts.of({ ...definitions.audited, ...collectedMessages.audited }),
    personalData.of(({ database }: WithDatabase) => ({
      digest: tables.flatMap((table) => table.personalTables(database)),
    })),
    ...backOffice({ pages, attention: needsAttention }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { digest: { en: 'Digests', 'zh-CN': '摘要' } },
  permissions,
  migrations: [createDigests],
  entities: tables.map(({ entity }) => entity),
  messages,
  scheduledTasks: [purgeDigests],
  setup({ services, config, log, roles, provide, contribute, contributions, onReady, onDrain }) {
    const { http, database: db, notification, preferences, site, templates, i18n: translator } = services
    const { clock } = db
    const readers = new Readers({ preferences, site })
    const declared: ReadonlyMap<string, DeclaredDigest> = contributions(declaredDigests)
    const closer = new DigestCloser({ db, notification, readers, declared, log })
    provide(digests, new DigestCollector({ db, notification, readers, declared }))
    contribute(labelSources, 'digest.definition', definitionLabels(db))
    http.addRoutes(definitions.routes, { services, parts: { declared } })
    http.addRoutes(collectedMessages.routes, { services, parts: { closer } })
    http.addRoutes(previewRoutes, { db, templates, translator, declared })

    if (!roles.has('worker') || !config.get('platform.digest.auto-startup')) return
    const stopped = new AbortController()
    let isDeclared = false
    const loop = new PollLoop({
      async look() {
        if (!isDeclared) await insertDeclared(db, declared)
        isDeclared = true
        return closer.closeDue(stopped.signal)
      },
      pollMs: () => config.get('platform.digest.poll-interval'),
      idleMs: () => idlePollMs,
      subject: 'due digests',
      clock,
      log,
    })
    onReady(() => loop.start())
    onDrain(async () => {
      stopped.abort()
      await loop.stop()
    })
  },
})

/** Creates the digests that plugins declare. Those that exist do not change, because an operator may have changed them. */
async function insertDeclared(db: Database, declared: ReadonlyMap<string, DeclaredDigest>): Promise<void> {
  const now = new Date(db.clock.now())
  const rows = [...declared].map(([code, { enabled = false, windowSeconds = 3_600, channels = [] }]) => ({
    id: db.newId(),
    code,
    enabled,
    kind: 'fixed' as const,
    windowSeconds,
    maxSeconds: 86_400,
    slots: [],
    itemsShown: 10,
    channels: [...channels],
    template: null,
    // Those of the declaration.
    subject: null,
    content: null,
    version: 1,
    createdAt: now,
    updatedAt: now,
    updatedBy: null,
  }))
  await insertMissingRows(db, Definition.entity, 'code', rows)
}
