import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { http } from '@plinth/http'
import { accounts, identity } from '@plinth/iam'
import { preferenceChannel } from '@plinth/inbox'
import { auditTexts, definePlugin, kernel, notificationChannel, optional, personalData } from '@plinth/kernel'
import { outgoingHttp } from '@plinth/outgoing-http'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { browserFileRoutes } from './browser-files.ts'
import { accountProblem, fcmChannel, webPushChannel } from './channel.ts'
import { keys, secretKeyName, serviceAccountKey } from './config.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { devices as deviceList, ownDevices } from './device-resources.ts'
import { deviceRoutes } from './device-routes.ts'
import { Devices } from './devices.ts'
import { pushTables, tables } from './entities.ts'
import { AccessTokens } from './fcm/access-tokens.ts'
import { createPush } from './migrations/0001-create-push.ts'
import { purgeDevices } from './tasks.ts'
import { Vapid } from './web-push/vapid.ts'

/** Push messages to browsers (Web Push) and apps (Firebase Cloud Messaging), as channels of notifications. */
export default definePlugin({
  id: 'push',
  title: { en: 'Push messages', 'zh-CN': '推送消息' },
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires: {
    kernel,
    http,
    database,
    identity,
    accounts,
    site,
    outgoingHttp,
    configCentre,
    sharedStore: optional(sharedStore),
  },
  contributes: [
    notificationChannel,
    optional(
      preferenceChannel.of({
        'web-push': { title: { en: 'Push messages in the browser', 'zh-CN': '浏览器推送' } },
        fcm: { title: { en: 'Push messages in the app', 'zh-CN': '应用推送' } },
      }),
    ),
    auditTexts.of(deviceList.audited),
    personalData.of(({ database }: WithDatabase) => ({ push: pushTables(database) })),
    ...backOffice({ pages: deviceList.pages }),
  ],
  config: keys,
  configGroups: { push: { en: 'Push messages', 'zh-CN': '推送消息' } },
  permissions,
  migrations: [createPush],
  entities: tables.map(({ entity }) => entity),
  messages,
  scheduledTasks: [purgeDevices],
  setup({ plugin: { id: plugin }, services, config, log, contribute }) {
    const { http, database: db, accounts, site, outgoingHttp, configCentre, sharedStore: store } = services
    const { clock } = db
    const stored = () => config.get(secretKeyName)
    const secretKey = new PluginEncryptionKey({ plugin, name: secretKeyName, centre: configCentre, stored })
    const box = new PluginEncryption(secretKey)
    const rules = { hosts: () => config.get('platform.push.web-push.hosts'), http: outgoingHttp }
    const vapid = new Vapid({ seed: () => secretKey.get(), subject: () => site.url, clock })
    const tokens = new AccessTokens({ http: outgoingHttp, store, box, clock, log })
    const maxDevices = () => config.get('platform.push.max-devices')
    const devices = new Devices({ db, box, rules, maxDevices, log })
    const parts = { config, devices, accounts, site, http: outgoingHttp, clock, rules, vapid, tokens }
    config.onVerify(serviceAccountKey, (account) => {
      const problem = accountProblem(account)
      if (problem !== undefined) throw new Error(problem)
    })
    contribute(notificationChannel, 'web-push', webPushChannel(parts))
    contribute(notificationChannel, 'fcm', fcmChannel(parts))
    http.addRoutes(deviceRoutes, { devices, vapid })
    http.addRoutes(ownDevices.routes, { services, parts: undefined })
    http.addRoutes(deviceList.routes, { services, parts: undefined })
    http.addRoutes(browserFileRoutes)
  },
})
