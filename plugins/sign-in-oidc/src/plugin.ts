import { backOffice, signInWays } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { accounts, credentials, identity, loginGuard, proofMethod, userDeleted } from '@plinth/iam'
import { auditTexts, definePlugin, kernel, optional, personalData } from '@plinth/kernel'
import { mail } from '@plinth/mail'
import { outgoingHttp } from '@plinth/outgoing-http'
import { rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { pages } from './admin-pages.ts'
import { adminRoutes } from './admin-routes.ts'
import { keys, tokenKeyName } from './config.ts'
import { audited, businessError, messages, methodName, permissions } from './declarations.ts'
import { entities, oidcTables } from './entities.ts'
import { ExclusiveDomains } from './exclusive-domains.ts'
import { ClaimGrants } from './grants.ts'
import { OidcLimits } from './limits.ts'
import { LinkedIdentities } from './linked-identities.ts'
import { Logouts } from './logout.ts'
import { logoutEndpoints } from './logout-endpoints.ts'
import { createOidc } from './migrations/0001-create-oidc.ts'
import { identityChanged, mailNotices } from './notices.ts'
import { OidcSignIn } from './oidc-sign-in.ts'
import { verifyProviders } from './provider-check.ts'
import { ProviderClients } from './provider-clients.ts'
import { ProviderLogins } from './provider-login.ts'
import { issuerKeyOf, issuerKeyPrefix, Providers } from './providers.ts'
import { rules } from './rules.ts'
import { providerSignIn, signInRoutes } from './sign-in-routes.ts'
import { purgeSignIns, SignIns } from './sign-ins.ts'
import { Transactions } from './transactions.ts'

/** Sign-in with OpenID Connect providers. iam provides accounts, sessions, guards and audit. */
export default definePlugin({
  id: 'sign-in-oidc',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    database,
    http,
    site,
    accounts,
    identity,
    outgoingHttp,
    rateLimiter,
    sharedStore,
    configCentre,
    credentials,
    events: optional(events),
    i18n: optional(i18n),
    mail: optional(mail),
  },
  contributes: [
    loginGuard,
    proofMethod,
    auditTexts.of({ ...audited, ...rules.audited }),
    personalData.of(({ database }: WithDatabase) => ({ 'sign-in-oidc': oidcTables(database) })),
    ...backOffice({ pages: [...pages, ...rules.pages] }),
    optional(signInWays.of([providerSignIn])),
  ],
  config: keys,
  configGroups: { 'sign-in-oidc': { en: 'Sign-in with providers', 'zh-CN': '第三方登录' } },
  permissions: [...permissions, ...rules.permissions],
  migrations: [createOidc],
  entities,
  messages,
  scheduledTasks: [purgeSignIns],
  setup({ plugin: { id: plugin }, services, config, log, contribute }) {
    const { http, database: db, accounts, identity, sharedStore: store, configCentre: centre, kernel } = services
    const { clock } = db
    const stored = () => config.get(tokenKeyName)
    const box = new PluginEncryption(new PluginEncryptionKey({ plugin, name: tokenKeyName, centre, stored }))
    const providers = new Providers(config, services.site, () => http.url)
    const clients = new ProviderClients({ http: services.outgoingHttp, clock, log })
    verifyProviders(config, clients)
    const limits = new OidcLimits(services.rateLimiter, config)
    const logins = new ProviderLogins({ clients, providers, clock, log })
    const transactions = new Transactions({ store, clock })
    const grants = new ClaimGrants({ db, accounts })
    const signIns = new SignIns({ db, identity, box, log })
    const exclusive = new ExclusiveDomains({ db, providers, accounts, identity })
    const linked = new LinkedIdentities({ db, kernel, events: services.events, accounts, signIns, exclusive })
    const logouts = new Logouts({ providers, clients, signIns, identity, store, clock, log })
    const signIn = new OidcSignIn({
      providers,
      transactions,
      logins,
      limits,
      grants,
      signIns,
      linked,
      accounts,
      identity,
    })
    contribute(loginGuard, 'sign-in-oidc', exclusive.guard)
    contribute(proofMethod, methodName, {
      strength: 'knowledge',
      async isAvailable(userId) {
        for (const { issuer, freshProof } of providers.enabled)
          if (freshProof && (await accounts.hasExternal(userId, issuerKeyOf(issuer)))) return true
        return false
      },
      acceptsExternal: (provider) =>
        !provider.startsWith(issuerKeyPrefix) ||
        providers.enabled.some(({ issuer }) => issuerKeyOf(issuer) === provider),
    })
    const { events, mail, i18n, credentials, site } = services
    events?.declarePublished(identityChanged)
    if (events !== undefined && mail !== undefined && i18n !== undefined)
      mailNotices(events, { credentials, mail, i18n, site, log })
    events?.on(userDeleted, 'sign-in-oidc.forget', async ({ payload: { userId } }) => {
      await signIns.remove({ userId })
      await linked.forget(userId)
    })
    http.addRoutes(signInRoutes, { providers, signIn, linked, logouts })
    http.addRoutes(adminRoutes, { db, providers, clients, grants, linked, accounts })
    http.addRoutes(rules.routes, { services, parts: { accounts, providers } })
    http.register(logoutEndpoints({ providers, logouts, limits, log }), 'public')
  },
})
