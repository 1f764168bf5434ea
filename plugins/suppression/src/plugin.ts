import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { identity } from '@plinth/iam'
import { notificationCategories } from '@plinth/inbox'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { sms } from '@plinth/sms'
import { configCentre, PluginEncryptionKey } from '@plinth/system-config'
import { hashKeyName, keys } from './config.ts'
import { suppressions } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { SoftBounces, SuppressedAddress } from './entities.ts'
import { entries } from './entries.ts'
import { createSuppression } from './migrations/0001-create-suppression.ts'
import { SuppressionList } from './suppression-list.ts'
import { purgeSuppressions } from './tasks.ts'

/** Addresses that get no mails or text messages. `@plinth/notification` checks them before each send. */
export default definePlugin({
  id: 'suppression',
  title: { en: 'Suppression list', 'zh-CN': '禁发名单' },
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    http,
    database,
    identity,
    configCentre,
    sms: optional(sms),
    categories: optional(notificationCategories),
  },
  provides: [suppressions],
  contributes: [
    auditTexts.of(entries.audited),
    personalData.of(({ database }: WithDatabase) => ({ suppression: entries.personalTables(database) })),
    ...backOffice({ pages: entries.pages }),
  ],
  config: keys,
  configGroups: { suppression: { en: 'Suppression list', 'zh-CN': '禁发名单' } },
  permissions,
  migrations: [createSuppression],
  entities: [SuppressedAddress.entity, SoftBounces.entity],
  messages,
  scheduledTasks: [purgeSuppressions],
  setup({ plugin: { id: plugin }, services, config, provide }) {
    const { database: db, http, configCentre, sms, categories } = services
    const stored = () => config.get(hashKeyName)
    const key = new PluginEncryptionKey({ plugin, name: hashKeyName, centre: configCentre, stored })
    const list = new SuppressionList(db, key)
    provide(suppressions, list)
    http.addRoutes(entries.routes, { services, parts: { list, sms, categories } })
  },
})
