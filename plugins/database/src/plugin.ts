import { existsSync } from 'node:fs'
import type { PluginDataStore } from '@plinth/kernel'
import { definePlugin, healthCheck, kernel, optional, tracing } from '@plinth/kernel'
import { manifestEntries, nodeEnvironmentOf, pluginData, startSummary, upgradeSteps } from '@plinth/kernel/host'
import type { MigrationProgress } from '@plinth/migrations'
import { databaseKeys, readConnectionSettings } from './config.ts'
import { isMissingFile } from './connections/connection-failure.ts'
import { database, databaseSecret } from './contract.ts'
import { DatabaseService } from './database-service.ts'
import {
  backArguments,
  backOptions,
  changeSetSteps,
  migrateOptions,
  pendingStepsOfNewDatabase,
  progressText,
  runBackCommand,
  runMigrateCommand,
} from './migrate-command.ts'
import { changeSets, changeSetsOf } from './migrations/index.ts'
import { moveContext, moveOptions, runMoveCommand } from './move/move-command.ts'
import { clockWarning, confirmHostClock, followedClock, startClockWatch } from './time/database-clock.ts'
import { isPause } from './time/file-clock.ts'

/** Time limit of the setup. It is long, because the setup includes migrations. Connecting has its own timeout. */
const setupDeadlineMs = 24 * 60 * 60 * 1000

/** Minimum duration in milliseconds of a change set that is logged at the start. */
const slowChangeSetMs = 1_000
const isReported = (progress: MigrationProgress) =>
  progress.kind === 'waiting' || (progress.kind === 'applied' && progress.durationMs >= slowChangeSetMs)

export default definePlugin({
  id: 'database',
  version: '1.0.0',
  kernel: '^1.0.0',
  implements: ['entities', 'migrations'],
  requires: { kernel, followedClock: optional(followedClock), tracing: optional(tracing) },
  provides: [database, databaseSecret, moveContext],
  contributes: [healthCheck, manifestEntries, pluginData, startSummary, upgradeSteps],
  config: databaseKeys,
  configGroups: { database: { en: 'Database', 'zh-CN': '数据库' } },
  migrations: changeSets,
  // The stored time belongs to the file: after a long time on a server, a new file must not trust it.
  processTables: ['database_clock'],
  setupDeadlineMs,
  commands: [
    {
      name: 'migrate',
      summary: 'Bring the database up to date with the change sets of all plugins',
      options: migrateOptions,
      setsUp: 'needed',
      run: ({ own }, invocation) => runMigrateCommand(own(database), invocation),
    },
    {
      name: 'migrate back',
      summary: 'Take a change set back that `plinth dev` was the first to apply, with all later ones of its plugin',
      arguments: backArguments,
      options: backOptions,
      setsUp: 'needed',
      run: ({ own }, invocation) => runBackCommand(own(database), invocation),
    },
    {
      name: 'database move',
      summary: 'Move all data to another database, and prove that they are equal there',
      options: moveOptions,
      setsUp: 'needed',
      run: ({ own }, invocation) => runMoveCommand(own(moveContext), invocation),
    },
    {
      name: 'database confirm-clock',
      summary: 'Confirm that the clock of this host is correct, so that irreversible tasks run again (SQLite only)',
      // The command records an audit entry. The plugin that stores audit entries must be set up, if the product has
      // one.
      setsUp: 'possible',
      run: ({ own, services }, invocation) => confirmHostClock(own(database), services.kernel, invocation),
    },
  ],
  async setup(ctx) {
    const { plugins, isDev } = ctx.services.kernel
    const settings = readConnectionSettings(ctx.config, ctx.root)
    const { isProduction } = nodeEnvironmentOf(process.env['NODE_ENV'])
    const isServer = ctx.roles.has('web') || ctx.roles.has('worker')
    const service = await DatabaseService.open({
      settings,
      entities: plugins.map(({ id, entities = [] }) => ({ plugin: id, entities })),
      changeSets: changeSetsOf(plugins),
      lockWaitMs: ctx.config.get('platform.database.migration-lock-wait'),
      clock: ctx.clock,
      clockToleranceMs: ctx.config.get('platform.database.clock-tolerance'),
      development: isProduction ? undefined : { project: ctx.root, isRecorded: isDev },
      isCommand: !isServer,
      followedClock: ctx.services.followedClock,
      tracer: ctx.services.tracing?.tracer,
      log: ctx.log,
    })
    const { clock } = service
    ctx.onStop(() => service.close())
    ctx.provide(database, service)
    ctx.provide(moveContext, {
      source: settings,
      changeSets: changeSetsOf(plugins),
      processTables: new Set(plugins.flatMap(({ processTables = [] }) => processTables)),
      clock: ctx.clock,
      root: ctx.root,
    })
    ctx.provide(databaseSecret, Object.freeze({ password: ctx.config.get('platform.database.password') }))
    ctx.contribute(manifestEntries, 'tables', () => service.tables())
    ctx.contribute(pluginData, 'tables', tableData(service))
    ctx.contribute(upgradeSteps, 'change-sets', async () =>
      // A command must not create the file of an empty database.
      (await isMissingFile(settings))
        ? pendingStepsOfNewDatabase(changeSetsOf(plugins))
        : changeSetSteps(await service.migrationStatus()),
    )
    ctx.contribute(startSummary, 'database', () => [{ label: 'Database', place: service.place }])
    ctx.contribute(healthCheck, 'database', async (signal) => {
      // A server creates the file at its first start. A command that checks must not create it.
      if (!isServer && (await isMissingFile(settings))) return
      const { warnings } = await service.ping(signal)
      // A server has compared the entities at its start. A command compares them here, and measures the clock, which is
      // impossible before the database is migrated.
      if (!isServer && (await service.migrationStatus()).pending.length === 0) await service.assertEntities()
      const problem = isServer ? clock.problem : await clock.check().catch(() => undefined)
      const isShown = problem !== undefined && (isServer || !isPause(problem))
      return { warnings: isShown ? [...warnings, clockWarning(problem)] : warnings }
    })
    if (!isServer) {
      // Only a command checks the change sets. A server has applied them at its start, or its start has failed.
      ctx.contribute(healthCheck, 'database.change-sets', async () => {
        if (!(await isMissingFile(settings))) return { warnings: await service.checkChangeSets() }
      })
      return
    }

    const isNew = service.dialect === 'sqlite' && service.place !== ':memory:' && !existsSync(service.place)
    await service.connect()
    ctx.log.info(
      { type: service.dialect, place: service.place },
      isNew ? 'database: a new file was created' : 'database',
    )
    const watch = new AbortController()
    ctx.onStop(() => watch.abort())
    const startClock = () => startClockWatch({ clock, processClock: ctx.clock, log: ctx.log, signal: watch.signal })
    if (ctx.config.get('platform.database.migrate-at-start')) {
      const { applied } = await service.migrate({
        signal: ctx.signal,
        onProgress: (progress) => ctx.log[isReported(progress) ? 'info' : 'debug'](progressText(progress)),
      })
      if (!isProduction) await service.assertEntities()
      if (applied.length > 0) ctx.log.info({ applied: applied.length, place: service.place }, 'database migrated')
      await startClock()
      return
    }
    await service.checkChangeSets()
    const { pending } = await service.migrationStatus()
    if (pending.length > 0) ctx.log.warn({ pending: pending.length }, 'change sets are pending; run `plinth migrate`')
    if (pending.some(({ plugin }) => plugin === ctx.plugin.id)) return
    await service.reserveIds()
    await startClock()
  },
})

/** Finds and removes the tables and change sets of a plugin that is being removed. */
const tableData = (service: Pick<DatabaseService, 'dataOf' | 'removeDataOf'>): PluginDataStore => ({
  async find({ id }) {
    const { tables, changeSets } = await service.dataOf(id)
    const found = tables.map(({ table, rows }) => ({ kind: 'table', name: table, rows }))
    return changeSets === 0 ? found : [...found, { kind: 'change-sets', name: 'schema_changelog', rows: changeSets }]
  },
  remove: ({ id }) => service.removeDataOf(id),
})
