import { backOffice, signInWays } from '@plinth/admin'
import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { database, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { credentials, identity, loginGuard, proofMethod, userDeleted } from '@plinth/iam'
import { dataCheck, definePlugin, optional, personalData } from '@plinth/kernel'
import { mail } from '@plinth/mail'
import { rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { configCentre, createSealedTextCheck, PluginEncryption, PluginEncryptionKey } from '@plinth/system-config'
import { pages } from './admin-pages.ts'
import { adminRoutes } from './admin-routes.ts'
import { AttemptLimits } from './attempt-limits.ts'
import { AuthenticatorViews } from './authenticator-views.ts'
import { Authenticators, methodNames } from './authenticators.ts'
import { Challenges } from './challenges.ts'
import { keys, secretKeyName } from './config.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { authenticatorTables, entities, NetworkRow, PasskeyRow, TotpRow } from './entities.ts'
import { KnownNetworks } from './known-networks.ts'
import { createAuthenticators } from './migrations/0001-create-authenticators.ts'
import { factorChanged, mailNotices } from './notices.ts'
import { ownRoutes } from './own-routes.ts'
import { passkeySiteOf } from './passkey-site.ts'
import { Passkeys } from './passkeys.ts'
import { RecoveryCodes } from './recovery-codes.ts'
import { passkeySignIn, secondFactorSignIn, signInRoutes } from './sign-in-routes.ts'
import { OneTimePasswords } from './totp.ts'

const requires = {
  configCentre,
  credentials,
  database,
  events,
  http,
  i18n,
  identity,
  mail,
  rateLimiter,
  sharedStore,
  site,
} as const

/** Time in milliseconds after which a network is no longer known: 180 days. */
const knownNetworkMs = 180 * 86_400_000

const purge = createPurgeTask<{ requires: typeof requires; config: typeof keys }>('platform.authenticators', {
  displayName: { en: 'Remove networks of old sign-ins', 'zh-CN': '清除久未登录的网络记录' },
  old: ({ clock }) => [rowsBefore('authenticator_network', 'last_success_at', new Date(clock.now() - knownNetworkMs))],
})

/** Passkeys, one-time passwords and recovery codes, as first and second factors of sign-ins and as fresh proofs. */
export default definePlugin({
  id: 'authenticators',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  contributes: [
    dataCheck,
    loginGuard,
    proofMethod,
    personalData.of(({ database }: WithDatabase) => ({ authenticators: authenticatorTables(database) })),
    optional(signInWays.of([passkeySignIn, secondFactorSignIn])),
    ...backOffice({ pages }),
  ],
  config: keys,
  configGroups: { authenticators: { en: 'Passkeys and second factors', 'zh-CN': '通行密钥与第二因素' } },
  permissions,
  migrations: [createAuthenticators],
  entities,
  messages,
  scheduledTasks: [purge],
  setup({ plugin, services, config, log, contribute }) {
    const { configCentre: centre, credentials, database: db, events, http, i18n, identity, mail, site } = services
    const { rateLimiter: limiter, sharedStore: store } = services
    const { clock } = db
    const stored = () => config.get(secretKeyName)
    const box = new PluginEncryption(
      new PluginEncryptionKey({ plugin: plugin.id, name: secretKeyName, centre, stored }),
    )
    // Without a configured site URL, the URL of this server is used, but never a value of the request, which the caller
    // could forge.
    const siteOf = () => passkeySiteOf(site.url || http.url || 'http://localhost')
    const issuerOf = () => config.get('platform.authenticators.issuer') || site.name
    const networks = new KnownNetworks({ db, limiter })
    const recoveryCodes = new RecoveryCodes(db)
    const passkeys = new Passkeys({
      db,
      challenges: new Challenges({ store, clock }),
      siteOf,
      issuerOf,
      onSuspected: (passkey) => authenticators.suspect(passkey),
    })
    const totp = new OneTimePasswords({
      db,
      store,
      box,
      log,
      networks,
      issuerOf,
      onBlocked: (userId, mark) => authenticators.noticeBlock(userId, mark),
    })
    contribute(
      dataCheck,
      'authenticators.secrets',
      createSealedTextCheck(box, () => totp.sealedTexts()),
    )
    const authenticators: Authenticators = new Authenticators({
      db,
      events,
      identity,
      credentials,
      passkeys,
      totp,
      recoveryCodes,
      networks,
    })
    const limits = new AttemptLimits(limiter, config)
    const views = new AuthenticatorViews({
      credentials,
      passkeys,
      totp,
      recoveryCodes,
      siteOf,
      i18n,
      now: () => clock.now(),
    })

    contribute(loginGuard, 'authenticators', limits.guard)
    contribute(proofMethod, methodNames.passkey, {
      strength: 'phishing-resistant',
      isAvailable: async (userId) => (await passkeys.countUsable(userId)) > 0,
      secondFactor: {
        isSetUp: async (userId) => (await passkeys.count(userId)) > 0,
        canSetUp: () => 'rpId' in siteOf(),
      },
      signsIn: true,
      reset: async (userId) => (await db.fork().nativeDelete(PasskeyRow, { userId })) > 0,
    })
    contribute(proofMethod, methodNames.totp, {
      strength: 'possession',
      isAvailable: (userId) => totp.isSetUp(userId),
      secondFactor: { isSetUp: (userId) => totp.isSetUp(userId), canSetUp: () => true },
      reset: async (userId) => {
        const em = db.fork()
        // The networks may be those of an attacker.
        await em.nativeDelete(NetworkRow, { userId })
        return (await em.nativeDelete(TotpRow, { userId })) > 0
      },
    })
    contribute(proofMethod, methodNames.recoveryCode, {
      strength: 'knowledge',
      isAvailable: async (userId) => (await recoveryCodes.countLeft(userId)) > 0,
      // Codes alone require no second factor. They end with the last factor.
      secondFactor: { isSetUp: () => false, isRecovery: true },
      reset: (userId) => recoveryCodes.removeAll(userId),
    })
    events.declarePublished(factorChanged)
    mailNotices(events, { credentials, mail, i18n, site, log })
    events.on(userDeleted, 'authenticators.forget', ({ payload: { userId } }) => authenticators.forget(userId))
    http.addRoutes(signInRoutes, { identity, authenticators, passkeys, totp, limits })
    http.addRoutes(ownRoutes, { authenticators, passkeys, totp, limits, views })
    http.addRoutes(adminRoutes, { identity, authenticators, views })
  },
})
