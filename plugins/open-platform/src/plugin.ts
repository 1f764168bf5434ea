import { backOffice, labelSources } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { events, openKeyAbnormal, openRateLimited } from '@plinth/events'
import { http } from '@plinth/http'
import { identity, type Operator } from '@plinth/iam'
import { auditTexts, dataCheck, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre, createSealedTextCheck, PluginEncryptionKey } from '@plinth/system-config'
import { pages } from './admin-pages.ts'
import { appRoutes } from './applications/app-routes.ts'
import { ApplicationAlerts } from './applications/application-alerts.ts'
import { Applications, AppSecretEncryption, sealedTexts } from './applications/applications.ts'
import { apps } from './applications/apps.ts'
import { keys, secretKeyName } from './config.ts'
import { openScopes } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { entities, openPlatformTables } from './entities.ts'
import { openPlatformLabels } from './label-sources.ts'
import { createOpenPlatform } from './migrations/0001-create-open-platform.ts'
import { nameLastEditor } from './migrations/0002-name-last-editor.ts'
import { countDays } from './migrations/0003-count-days.ts'
import { indexUsage } from './migrations/0004-index-usage.ts'
import { ScopeRegistry } from './scopes.ts'
import { Authenticator, UsedNonces } from './signature/authenticator.ts'
import {
  assertRoutesOpenable,
  headersGuard,
  signatureGuard,
  signatureTestRoutes,
} from './signature/signature-guards.ts'
import { CallMeter, CallRecords, purgeCallRecords } from './usage/call-meter.ts'
import { quotaGuard } from './usage/quota-guard.ts'
import { usageRoutes } from './usage/usage-routes.ts'

/** Applications of other companies: signed requests, scopes, quotas and usage records. */
export default definePlugin({
  id: 'open-platform',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
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
  },
  provides: [openScopes],
  contributes: [
    auditTexts.of(audited),
    dataCheck,
    personalData.of(({ database }: WithDatabase) => ({ 'open-platform': openPlatformTables(database) })),
    ...backOffice({ pages }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { 'open-platform': { en: 'Open platform', 'zh-CN': '开放平台' } },
  permissions,
  migrations: [createOpenPlatform, nameLastEditor, countDays, indexUsage],
  entities,
  messages,
  scheduledTasks: [purgeCallRecords],
  setup(context) {
    const {
      plugin: { id: plugin },
      services,
      config,
      log,
      roles,
      provide,
      contribute,
      onReady,
      onDrain,
      onStop,
    } = context
    const { http, database: db, identity, rateLimiter: limiter } = services
    const { identityResolvers, sharedStore, configCentre } = services
    const { clock } = db
    const stored = () => config.get(secretKeyName)
    const secrets = new AppSecretEncryption(
      new PluginEncryptionKey({ plugin, name: secretKeyName, centre: configCentre, stored }),
      log,
    )
    contribute(
      dataCheck,
      'open-platform.secrets',
      createSealedTextCheck(secrets, () => sealedTexts(db)),
    )
    const scopes = new ScopeRegistry()
    const store = (operator: Operator) => apps.store({ services, parts: { applications } }, operator)
    const applications: Applications = new Applications({ clock, identity, scopes, secrets, store })
    services.events?.declarePublished(openKeyAbnormal, openRateLimited)
    const alerts = new ApplicationAlerts({ events: services.events, store: sharedStore, clock, log })
    const authenticator = new Authenticator({ db, clock, log, box: secrets, alerts })
    const nonces = new UsedNonces(sharedStore, log)
    const records = new CallRecords(db)
    const flushIntervalMs = () => config.get('platform.open-platform.metering.flush-interval')
    const meter = new CallMeter({
      records,
      clock,
      log,
      flushIntervalMs,
      dayOf: (moment) => services.site.dayOf(moment),
    })
    const defaultLimit = () => config.get('platform.open-platform.security.default-rate-limit-per-minute')

    provide(openScopes, scopes)
    identityResolvers.add(({ openCaller }) => openCaller?.appKey)
    http.guard(headersGuard(clock))
    http.guard(signatureGuard({ authenticator, nonces, clock }))
    http.guard(quotaGuard({ nonces, limiter, meter, alerts, defaultLimit }))
    for (const [kind, source] of Object.entries(openPlatformLabels(db, scopes))) contribute(labelSources, kind, source)
    http.addRoutes(signatureTestRoutes)
    http.addRoutes(apps.routes, { services, parts: { applications } })
    http.addRoutes(appRoutes, { db, applications, scopes })
    http.addRoutes(usageRoutes, { records, clock, site: services.site })

    onReady(() => {
      assertRoutesOpenable(http.routes, scopes)
      if (roles.has('web')) meter.start()
    })
    onDrain(() => alerts.drain())
    onStop(() => meter.close())
  },
})
