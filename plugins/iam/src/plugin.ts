import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { adminPages, http, labelSources } from '@plinth/http'
import { auditTrail, definePlugin, kernel, optional } from '@plinth/kernel'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { accessGuards, assertPermissionsDeclared } from './access/access-guard.ts'
import { Authority } from './access/authority.ts'
import { PermissionCatalogue } from './access/permission-catalogue.ts'
import { RoleGrants } from './access/role-grants.ts'
import { roleRoutes } from './access/role-routes.ts'
import { Roles } from './access/roles.ts'
import { AccountService } from './accounts/account-service.ts'
import { ownRoutes } from './accounts/own-routes.ts'
import { userRoutes } from './accounts/user-routes.ts'
import { UserRules } from './accounts/user-rules.ts'
import { Users } from './accounts/users.ts'
import { pages } from './admin-pages.ts'
import { AuditTrail } from './audit/audit.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { reasonWrapper } from './audit/reason-header.ts'
import { commands } from './commands.ts'
import { keys } from './config.ts'
import { accounts, identity, loginGuard, passwords, renameGuard } from './contract.ts'
import { entities } from './entities.ts'
import { messages } from './failures.ts'
import { iamLabels } from './label-sources.ts'
import { changeSets } from './migrations/index.ts'
import { PasswordHasher } from './passwords/password-hash.ts'
import { PasswordPolicy } from './passwords/password-policy.ts'
import { permissions } from './permissions.ts'
import { purge } from './purge-task.ts'
import { IdentityService } from './sessions/identity-service.ts'
import { Login } from './sessions/login.ts'
import { loginLimiter } from './sessions/login-limiter.ts'
import { Sessions } from './sessions/sessions.ts'
import { TokenCheck } from './sessions/token-check.ts'

/** Accounts, roles, permissions, tokens and sessions (K-006). */
export default definePlugin({
  id: 'iam',
  version: '1.0.0',
  kernel: '^1.0.0',
  carriesOut: ['permissions'],
  requires: {
    kernel,
    http,
    database,
    events: optional(events),
    rateLimiter: optional(rateLimiter),
    identityResolvers: optional(identityResolvers),
  },
  provides: [identity, accounts, passwords],
  extensionPoints: [loginGuard, renameGuard],
  contributes: [auditTrail, optional(adminPages), optional(labelSources)],
  config: keys,
  configGroups: { iam: { en: 'Accounts and sign-in', 'zh-CN': '账号与登录' } },
  permissions,
  migrations: changeSets,
  entities,
  messages,
  commands,
  scheduledTasks: [purge],
  setup({ services, config, clock, log, redact, roles: processRoles, provide, contribute, contributions, onReady }) {
    const { kernel, http, database: db, events, rateLimiter, identityResolvers } = services
    const lifetimeMs = () => config.get('platform.iam.token.lifetime')
    const idleTimeoutMs = () => config.get('platform.iam.token.idle-timeout')
    const cacheSize = config.get('platform.iam.token.cache-size')

    const catalogue = new PermissionCatalogue(kernel.plugins)
    const policy = new PasswordPolicy(config)
    const hasher = new PasswordHasher({
      memoryBytes: config.get('platform.iam.password.hash.memory'),
      passes: config.get('platform.iam.password.hash.passes'),
      concurrency: config.get('platform.iam.password.hash.concurrency'),
    })
    const authority = new Authority(db, clock)
    const audit = new AuditTrail({ db, clock, redact, networkOf: http.networkOf })
    const grants = new RoleGrants()
    const rules = new UserRules(grants)
    const tokens = new TokenCheck({
      ...{ db, authority, roles: grants, clock, log },
      settings: { cacheSize, idleTimeoutMs },
    })
    const sessions = new Sessions({ db, clock, authority, rules, audit }, { lifetimeMs, idleTimeoutMs })
    const renameGuards = contributions(renameGuard)
    const userParts = { db, clock, authority, rules, hasher, passwords: policy, sessions, audit, renameGuards, events }
    const users = new Users(userParts)
    const roles = new Roles({ db, clock, authority, roles: grants, rules, catalogue, audit })
    const limiter = rateLimiter && loginLimiter(rateLimiter, config)
    if (limiter === undefined && processRoles.has('web'))
      log.warn('no plugin brings a rate limiter: logins are not limited')
    const login = new Login({ db, clock, hasher, sessions, audit, limiter, guards: contributions(loginGuard) })
    const accountService = new AccountService(userParts, users, catalogue)
    const identityService = new IdentityService(db, tokens, login)

    provide(identity, identityService)
    provide(accounts, accountService)
    provide(passwords, policy)
    contribute(auditTrail, 'iam', audit.forAll)
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const [kind, source] of Object.entries(iamLabels(db, catalogue))) contribute(labelSources, kind, source)
    for (const guard of accessGuards(identityService, clock)) http.guard(guard)
    http.wrap(reasonWrapper)
    identityResolvers?.add(({ principal }) => principal && `user:${principal.userId}`)
    http.addRoutes(ownRoutes, { db, login, users, sessions, catalogue })
    http.addRoutes(userRoutes, { db, users, sessions })
    http.addRoutes(roleRoutes, { db, roles, catalogue })
    http.addRoutes(auditRoutes, { db })

    onReady(async () => {
      assertPermissionsDeclared(http.routes, (code) => catalogue.has(code))
      if (!processRoles.has('web') && !processRoles.has('worker')) return
      const { pending } = await db.migrationStatus()
      if (pending.length === 0) await accountService.seed()
    })
  },
})
