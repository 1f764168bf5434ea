import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { TableNotFoundException } from '@mikro-orm/core'
import { PollLoop } from '@plinth/coordination'
import { database } from '@plinth/database'
import {
  type AuditEntry,
  auditTexts,
  dataCheck,
  definePlugin,
  errorReason,
  healthCheck,
  kernel,
  optional,
  personalData,
  stateFile,
  writeAuditEntry,
} from '@plinth/kernel'
import { configAdmin, pluginData, upgradeSteps } from '@plinth/kernel/host'
import { isMissingTable } from '@plinth/migrations'
import { sharedStore } from '@plinth/shared-store'
import { createPluginValueStore } from './changes/plugin-values.ts'
import { commands } from './commands.ts'
import { keys } from './config.ts'
import { StoredConfigCentre } from './config-centre.ts'
import { configCentre } from './contract.ts'
import { audited, businessError } from './declarations.ts'
import { configTables, entities } from './entities.ts'
import { type ChangeNotification, ChangeNotifier, Instances } from './instances/instances.ts'
import { createSystemConfig } from './migrations/0001-create-system-config.ts'
import { markState } from './migrations/0002-mark-state.ts'
import { nameActingUser } from './migrations/0003-name-acting-user.ts'
import { indexActors } from './migrations/0004-index-actors.ts'
import { storeDestinations } from './migrations/0005-store-destinations.ts'
import { createRequests } from './migrations/0006-create-requests.ts'
import { approvalKeysKey } from './requests/approval-rule.ts'
import { MasterKeys } from './secrets/master-keys.ts'
import { findUnreadableSecrets } from './secrets/rotation.ts'

/**
 * The config centre. Plugins that are set up after it read values from the database. Plugins that it requires are set
 * up before it, so the config centre cannot configure them. For this reason its routes are in another plugin,
 * `@plinth/system-config/admin`. Otherwise the config centre would require the HTTP server.
 */
export default definePlugin({
  id: 'system-config',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  suppliesConfiguration: true,
  requires: { kernel, configAdmin, database, sharedStore: optional(sharedStore) },
  provides: [configCentre],
  contributes: [auditTexts.of(audited), dataCheck, healthCheck, personalData, pluginData, stateFile, upgradeSteps],
  config: keys,
  configGroups: { 'system-config': { en: 'Config centre', 'zh-CN': '配置中心' } },
  entities,
  migrations: [createSystemConfig, markState, nameActingUser, indexActors, storeDestinations, createRequests],
  processTables: ['sys_config_instance'],
  commands,
  async setup(ctx) {
    const { log, services } = ctx
    const { clock } = services.database
    const masterKeys = new MasterKeys({
      configured: ctx.config.get('platform.system-config.master-key'),
      file: resolve(ctx.root, ctx.config.get('platform.system-config.master-key-file')),
      log,
    })
    const isServer = ctx.roles.has('web') || ctx.roles.has('worker')
    const instances = new Instances(services.database, clock, ctx.roles)
    const announcements = new ChangeNotifier(services.sharedStore, log)
    const announce = (what: ChangeNotification) => {
      announcements.tell(what)
      poll.wake()
    }
    const { kernel, configAdmin, database } = services
    const parts = { product: kernel.product.name, configAdmin, database, masterKeys, instances, clock, log }
    const record = (entry: AuditEntry) => writeAuditEntry(kernel, entry)
    const approvalKeys = () => ctx.config.get(approvalKeysKey)
    const isCommand = !isServer
    const centre = new StoredConfigCentre({ ...parts, announce, approvalKeys, audit: record, isCommand })
    const poll = new PollLoop({
      pollMs: () => ctx.config.get('platform.system-config.poll-interval'),
      async look() {
        try {
          // Writes the heartbeat first, because reading new values may have to wait for a connection.
          await instances.beat(centre.report)
          await centre.refresh()
          await instances.beat(centre.report)
        } catch (error) {
          // If the database is not migrated, the start has already reported it.
          if (!isMissingTable(error)) throw error
        }
        return Number.POSITIVE_INFINITY
      },
      subject: 'stored configuration',
      clock,
      log,
    })
    ctx.provide(configCentre, centre)
    ctx.contribute(personalData, 'system-config', configTables(ctx.services.database))
    ctx.contribute(pluginData, 'stored-values', createPluginValueStore(centre))
    ctx.contribute(upgradeSteps, 'stored-secrets', async () => {
      // A new database contains no secret.
      const keys = isMissing ? [] : await centre.unboundSecrets().catch(() => [])
      const entry = (key: string) =>
        `${key}: the start binds the stored secret to its current destination. Its stored value does not change.`
      return keys.map((key) => ({ change: 'bound', plugin: 'system-config', entry: entry(key) }))
    })
    ctx.onStop(() => announcements.settled())
    // The product works without master keys until a secret is read or saved, so this is only a warning.
    ctx.contribute(healthCheck, 'system-config.master-key', async () => {
      const { problem } = await masterKeys.read()
      return { warnings: problem === undefined ? [] : [problem] }
    })

    ctx.contribute(stateFile, 'system-config.master-key', () => masterKeys.file)
    ctx.contribute(dataCheck, 'system-config.secrets', async ({ signal }) => {
      const keys = await findUnreadableSecrets({ database, masterKeys }, signal)
      if (keys.length > 0) throw new Error(`No known master key decrypts the stored secrets of ${keys.join(', ')}.`)
    })

    // A command may run before the database exists, and `openapi` must not create an empty database.
    const isMissing = !isServer && services.database.dialect === 'sqlite' && !existsSync(services.database.place)
    if (!isMissing) {
      await centre.load().catch((error: unknown) => {
        if (isServer && !(error instanceof TableNotFoundException)) throw error
        const message = isMissingTable(error)
          ? 'stored configuration is not there yet; run `plinth migrate`'
          : 'stored configuration cannot be read'
        log.warn({ reason: errorReason(error) }, message)
      })
    }
    if (!isServer) return

    let stopListening = async () => {}
    ctx.onReady(async () => {
      stopListening = await announcements.listen((what) => {
        if (what === 'secrets') centre.forget()
        poll.wake()
      })
      poll.start()
    })
    ctx.onDrain(async () => {
      await stopListening()
      await poll.stop()
    })
    ctx.onStop(async () => {
      await poll.stop()
      await instances
        .leave()
        .catch((error: unknown) =>
          log.warn({ reason: errorReason(error) }, 'the row of this instance could not be removed'),
        )
    })
  },
})
