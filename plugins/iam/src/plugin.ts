import { backOffice, labelSources } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { auditTrail, nodeEnvironmentOf, pluginData, upgradeSteps } from '@plinth/kernel/host'
import { mail } from '@plinth/mail'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { createDayFormatter, site } from '@plinth/site'
import { accessGuards, assertPermissionsDeclared } from './access/access-guard.ts'
import { lossesOfRoles, permissionData } from './access/permission-catalogue.ts'
import { roleRoutes } from './access/role-routes.ts'
import { scopeCheck } from './access/scope-check.ts'
import { figureRoutes } from './accounts/figure-routes.ts'
import { callerAccountRoutes } from './accounts/own-routes.ts'
import { userRoutes } from './accounts/user-routes.ts'
import { notifyPreviousEmail } from './accounts/users.ts'
import { pages, timelines, userTiles } from './admin-pages.ts'
import { apiTokenRoutes } from './api-tokens/api-token-routes.ts'
import { announceEndingTokens, mailEndingTokens } from './api-tokens/end-notice.ts'
import { auditRoutes, reasonWrapper } from './audit/audit-routes.ts'
import { commands } from './commands.ts'
import { keys } from './config.ts'
import { accounts, credentials, identity, loginGuard, passwords, personalRecords, renameGuard } from './contract.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { entities } from './entities.ts'
import { iamLabels } from './label-sources.ts'
import { createIdentity } from './migrations/0001-create-identity.ts'
import { createSessions } from './migrations/0002-create-sessions.ts'
import { seedAuthority } from './migrations/0003-seed-authority.ts'
import { nameAuditTargets } from './migrations/0004-name-audit-targets.ts'
import { scopeAudits } from './migrations/0005-scope-audits.ts'
import { foldNamesMoreStrictly } from './migrations/0006-refold-names.ts'
import { indexEndTimes } from './migrations/0007-index-ends.ts'
import { indexSorts } from './migrations/0008-index-sorts.ts'
import { nameChangedUsers } from './migrations/0009-name-changed-users.ts'
import { indexFilters } from './migrations/0010-index-filters.ts'
import { storeAuditReasons } from './migrations/0011-keep-reasons.ts'
import { storeProofs } from './migrations/0012-store-proofs.ts'
import { storeSessionProofs } from './migrations/0013-store-session-proofs.ts'
import { createApiTokens } from './migrations/0014-create-api-tokens.ts'
import { prepareFactors } from './migrations/0015-prepare-factors.ts'
import { indexTraceIds } from './migrations/0016-index-trace-ids.ts'
import { addTokenAudiences } from './migrations/0017-add-token-audiences.ts'
import { limitUserIds } from './migrations/0018-limit-user-ids.ts'
import { type Parts, resolvers } from './parts.ts'
import { assertHashIsFast } from './passwords/password-hash.ts'
import { iamTables } from './personal-data/iam-tables.ts'
import { personalRoutes } from './personal-data/personal-routes.ts'
import { proofMethod } from './proof/contract.ts'
import { freshProofGuard } from './proof/fresh-guard.ts'
import { passwordMethod } from './proof/password-method.ts'
import { proofRoutes } from './proof/proof-routes.ts'
import { accountLimitSteps, guardAccountLimit } from './sessions/account-limit.ts'
import { knownDeviceWrapper } from './sessions/known-devices.ts'
import { notifyOfNewDevices } from './sessions/new-device-notice.ts'
import { purgeIdentityData } from './tasks.ts'

/** Accounts, roles, permissions, sessions and API tokens (requirement K-006). */
export default definePlugin({
  id: 'iam',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  implements: ['permissions'],
  requires: {
    kernel,
    http,
    database,
    events: optional(events),
    mail: optional(mail),
    i18n: optional(i18n),
    rateLimiter: optional(rateLimiter),
    identityResolvers: optional(identityResolvers),
    site: optional(site),
  },
  provides: [identity, accounts, credentials, passwords, personalRecords],
  extensionPoints: [loginGuard, renameGuard, proofMethod],
  contributes: [
    auditTexts.of(audited),
    auditTrail,
    personalData.of(({ database }: WithDatabase) => ({ iam: iamTables(database) })),
    pluginData,
    proofMethod,
    upgradeSteps,
    ...backOffice({ pages, tiles: userTiles, timelines }),
    optional(labelSources),
  ],
  config: keys,
  configGroups: { iam: { en: 'Accounts and sign-in', 'zh-CN': '账号与登录' } },
  permissions,
  migrations: [
    createIdentity,
    createSessions,
    seedAuthority,
    nameAuditTargets,
    scopeAudits,
    foldNamesMoreStrictly,
    indexEndTimes,
    indexSorts,
    nameChangedUsers,
    indexFilters,
    storeAuditReasons,
    storeProofs,
    storeSessionProofs,
    createApiTokens,
    prepareFactors,
    indexTraceIds,
    limitUserIds,
    addTokenAudiences,
  ],
  entities,
  messages,
  commands,
  scheduledTasks: [purgeIdentityData, announceEndingTokens],
  setup({ services, config, log, redact, roles: processRoles, wire, ...context }) {
    const { provide, contribute, contributions, onReady } = context
    const { kernel, http, database: db, events, rateLimiter, identityResolvers } = services
    const { plugins } = kernel
    const { clock } = db
    for (const name of ['memory', 'passes', 'concurrency'] as const) {
      config.onVerify(`platform.iam.password.hash.${name}`, (_value, _signal, after) => {
        const settings = {
          memoryBytes: after('platform.iam.password.hash.memory'),
          passes: after('platform.iam.password.hash.passes'),
          concurrency: after('platform.iam.password.hash.concurrency'),
        }
        return assertHashIsFast(settings, { clock: context.clock, availableMemory: () => process.availableMemory() })
      })
    }
    guardAccountLimit(config, (problem) => log.warn({ problem }, 'a login limit is not applied as it is configured'))
    const guards = {
      loginGuards: contributions(loginGuard),
      renameGuards: contributions(renameGuard),
      proofMethods: contributions(proofMethod),
    }
    const given = {
      kernel,
      db,
      events,
      rateLimiter,
      plugins,
      networkOf: http.networkOf,
      config,
      clock,
      log,
      redact,
      ...guards,
    }
    const parts = wire<Parts>()(given, resolvers)
    const { catalogue } = parts
    if (rateLimiter === undefined && processRoles.has('web'))
      log.warn('no loaded plugin provides a rate limiter, so logins are not limited')

    provide(identity, parts.identity)
    provide(accounts, parts.accounts)
    provide(credentials, parts.credentials)
    provide(passwords, parts.passwords)
    provide(personalRecords, parts.personal)
    contribute(proofMethod, 'password', passwordMethod(db))
    contribute(auditTrail, 'iam', parts.audit.forAll)
    contribute(pluginData, 'permissions', permissionData(db, parts.authority))
    contribute(upgradeSteps, 'login-limits', () => accountLimitSteps(config))
    const keysOfPlugins = () =>
      plugins.flatMap(({ config = {} }) => Object.entries(config).map(([key, declared]) => ({ ...declared, key })))
    contribute(upgradeSteps, 'permissions', (recorded) => lossesOfRoles(db, recorded, keysOfPlugins(), http.routes))
    for (const [kind, source] of Object.entries(iamLabels(db, catalogue))) contribute(labelSources, kind, source)
    if (events !== undefined && services.mail !== undefined && services.i18n !== undefined) {
      notifyPreviousEmail(events, services.mail, services.i18n)
    }
    if (events && services.mail && services.i18n && services.site) {
      const { mail, i18n, site } = services
      notifyOfNewDevices(events, { db, mail, i18n, site })
    }
    if (events !== undefined) mailEndingTokens(events, { db, mail: services.mail, i18n: services.i18n, log })
    for (const guard of accessGuards(parts.identity, clock)) http.guard(guard)
    http.guard(freshProofGuard)
    http.wrap(reasonWrapper)
    http.wrap(knownDeviceWrapper(parts.devices))
    if (!nodeEnvironmentOf(process.env['NODE_ENV']).isProduction) http.wrap(scopeCheck)
    identityResolvers?.add(({ principal }) => principal && `user:${principal.userId}`)
    http.addRoutes(callerAccountRoutes, parts)
    http.addRoutes(proofRoutes, parts)
    http.addRoutes(userRoutes, parts)
    http.addRoutes(apiTokenRoutes, parts)
    http.addRoutes(figureRoutes, { db, dayOf: services.site?.dayOf ?? createDayFormatter(() => 'UTC') })
    http.addRoutes(roleRoutes, parts)
    const stopping = new AbortController()
    context.onDrain(() => stopping.abort())
    http.addRoutes(personalRoutes, { personal: parts.personal, stopping: stopping.signal })
    http.addRoutes(auditRoutes, { db, kernel, i18n: services.i18n })

    onReady(async () => {
      assertPermissionsDeclared(http.routes, (code) => catalogue.has(code))
      if (!processRoles.has('web') && !processRoles.has('worker')) return
      const { pending } = await db.migrationStatus()
      if (pending.length === 0) await parts.accounts.seed()
    })
  },
})
