import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { auditTrail, definePlugin, kernel, optional } from '@plinth/kernel'
import { identityResolvers, rateLimiter } from '@plinth/rate-limit'
import { accessGuards, assertPermissionsDeclared } from './access-guard.ts'
import { AccountService } from './account-service.ts'
import { AuditTrail } from './audit.ts'
import { addAuditRoutes } from './audit-routes.ts'
import { Authority } from './authority.ts'
import { commands } from './commands.ts'
import { keys } from './config.ts'
import { accounts, identity, loginGuard, passwords, renameGuard } from './contract.ts'
import { entities } from './entities.ts'
import { messages } from './failures.ts'
import { IdentityService } from './identity-service.ts'
import { Login } from './login.ts'
import { loginLimiter } from './login-limiter.ts'
import { changeSets } from './migrations/index.ts'
import { addOwnRoutes } from './own-routes.ts'
import { PasswordHasher } from './password-hash.ts'
import { PasswordPolicy } from './password-policy.ts'
import { PermissionCatalogue } from './permission-catalogue.ts'
import { permissions } from './permissions.ts'
import { purgeTask } from './purge-task.ts'
import { RoleGrants } from './role-grants.ts'
import { addRoleRoutes } from './role-routes.ts'
import { Roles } from './roles.ts'
import { Sessions } from './sessions.ts'
import { TokenCheck } from './token-check.ts'
import { addUserRoutes } from './user-routes.ts'
import { UserRules } from './user-rules.ts'
import { Users } from './users.ts'

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
  contributes: [auditTrail],
  config: keys,
  permissions,
  migrations: changeSets,
  entities,
  messages,
  commands,
  scheduledTasks: [purgeTask],
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
    for (const guard of accessGuards(identityService, clock)) http.guard(guard)
    identityResolvers?.add(({ principal }) => principal && `user:${principal.userId}`)
    addOwnRoutes({ http, db, login, users, sessions, catalogue })
    addUserRoutes({ http, db, users, sessions })
    addRoleRoutes({ http, db, roles, catalogue })
    addAuditRoutes({ http, db })

    onReady(async () => {
      assertPermissionsDeclared(http.routes, (code) => catalogue.has(code))
      if (!processRoles.has('web') && !processRoles.has('worker')) return
      const { pending } = await db.migrationStatus()
      if (pending.length === 0) await accountService.seed()
    })
  },
})
