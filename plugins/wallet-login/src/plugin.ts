import { signInWays } from '@plinth/admin'
import { database } from '@plinth/database'
import { abuseSuspected, events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts, identity, loginGuard, proofMethod, renameGuard } from '@plinth/iam'
import { definePlugin, optional } from '@plinth/kernel'
import { rateLimiter } from '@plinth/rate-limit'
import { sharedStore } from '@plinth/shared-store'
import { site } from '@plinth/site'
import { walletVerifier } from '@plinth/web3'
import { AttemptLimits, UnusualAttemptAlerts } from './attempt-limits.ts'
import { Challenges } from './challenges.ts'
import { keys } from './config.ts'
import { businessError, messages } from './declarations.ts'
import { walletRoutes, walletSignIn } from './routes.ts'
import { proofMethodName, provider, renameGuardOfWallets, WalletLogin } from './wallet-login.ts'

/** Plugin for the login with an EVM wallet. iam provides accounts, tokens and audit; web3 verifies signatures. */
export default definePlugin({
  id: 'wallet-login',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    database,
    http,
    site,
    accounts,
    identity,
    rateLimiter,
    sharedStore,
    walletVerifier,
    events: optional(events),
  },
  contributes: [
    loginGuard,
    proofMethod,
    renameGuard.of({ 'wallet-login': renameGuardOfWallets }),
    optional(signInWays.of([walletSignIn])),
  ],
  config: keys,
  configGroups: { 'wallet-login': { en: 'Wallet sign-in', 'zh-CN': '钱包登录' } },
  messages,
  setup({ services, config, log, contribute, onDrain }) {
    const { http, site, accounts, identity, rateLimiter: limiter, sharedStore: store } = services
    const { walletVerifier: verifier, events } = services
    const { clock } = services.database
    const settings = () => ({
      lifetimeMs: config.get('platform.wallet-login.challenge-lifetime'),
      statement: config.get('platform.wallet-login.statement'),
      // Without a configured site URL, the URL of this server is used, but never a value of the request, which the
      // caller could forge.
      siteUrl: site.url || http.url || 'http://localhost',
    })
    const challenges = new Challenges({ store, clock, settings })
    events?.declarePublished(abuseSuspected)
    const unusual = new UnusualAttemptAlerts({ events, store, clock, log })
    onDrain(() => unusual.drain())
    const limits = new AttemptLimits({ limiter, config, unusual })
    const login = new WalletLogin({ challenges, verifier, accounts, identity, config })
    contribute(loginGuard, 'wallet-login', limits.guard)
    contribute(proofMethod, proofMethodName, {
      strength: 'possession',
      isAvailable: (userId) => accounts.hasExternal(userId, provider),
    })
    http.addRoutes(walletRoutes, { challenges, login, limits, config })
  },
})
