import { signInWays } from '@plinth/admin'
import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import { database, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { i18n } from '@plinth/i18n'
import { definePlugin, optional, personalData } from '@plinth/kernel'
import { mail } from '@plinth/mail'
import { rateLimiter } from '@plinth/rate-limit'
import { site } from '@plinth/site'
import { accounts, credentials, identity } from '../contract.ts'
import { keys } from './config.ts'
import { businessError, messages } from './declarations.ts'
import { RecoveryTokenRow, recoveryTables } from './entities.ts'
import { createRecovery } from './migrations/0001-create-recovery.ts'
import { RecoveryMails, recoveryMailRequested } from './recovery-mails.ts'
import { RecoveryService } from './recovery-service.ts'
import { RecoveryTokens } from './recovery-tokens.ts'
import { recoveryRoutes } from './routes.ts'
import { RecoveryLimits, RecoverySettings } from './settings.ts'

const requires = {
  accounts,
  credentials,
  identity,
  database,
  events,
  http,
  i18n,
  mail,
  rateLimiter,
  site,
} as const

/** Time in milliseconds for which used and expired links are kept, so that incidents can be investigated: one day. */
const keptAfterEndMs = 86_400_000

const purge = createPurgeTask<{ requires: typeof requires; config: typeof keys }>('platform.iam.recovery', {
  displayName: { en: 'Remove expired recovery links', 'zh-CN': '清除过期的找回链接' },
  old: ({ clock }) => [rowsBefore('iam_recovery_token', 'expires_at', new Date(clock.now() - keptAfterEndMs))],
})

/**
 * Recovery of accounts by e-mail: new passwords, invitations, and proven changes of the e-mail address. This is a separate
 * plugin, because it needs mail, events and limits, which a product with accounts may leave out.
 */
export default definePlugin({
  id: 'iam.recovery',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  contributes: [
    personalData.of(({ database }: WithDatabase) => ({ 'iam.recovery': recoveryTables(database) })),
    optional(
      signInWays.of([
        {
          id: 'iam.recovery',
          kind: 'recovery',
          status: 'getAuthRecovery',
          request: 'postAuthRecovery',
          complete: 'postAuthRecoveryComplete',
          email: 'postAuthRecoveryEmail',
        },
      ]),
    ),
  ],
  config: keys,
  migrations: [createRecovery],
  entities: [RecoveryTokenRow],
  messages,
  scheduledTasks: [purge],
  setup({ services, config, log }) {
    const { accounts, credentials, identity, database: db, events, http, i18n, mail, rateLimiter, site } = services
    const settings = new RecoverySettings(config, site, mail)
    const limits = new RecoveryLimits(rateLimiter, config)
    const tokens = new RecoveryTokens(db)
    const mails = new RecoveryMails({ credentials, tokens, settings, limits, mail, site, i18n, log })
    const recovery = new RecoveryService({ db, events, accounts, credentials, identity, tokens, settings, limits })
    events.on(recoveryMailRequested, 'iam.recovery-mail', (delivery, context) => mails.deliver(delivery, context))
    http.addRoutes(recoveryRoutes, { recovery, settings })
  },
})
