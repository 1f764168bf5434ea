import { definePlugin, healthCheck, kernel } from '@plinth/kernel'
import { connectionSettings, databaseKeys } from './config.ts'
import { database, databaseSecret } from './contract.ts'
import { DatabaseService } from './database-service.ts'
import { migrateOptions, progressText, runMigrate } from './migrate-command.ts'
import { changeSets, changeSetsOf } from './migrations/index.ts'

/** A migration may take long; connecting has its own timeout. */
const setupDeadlineMs = 24 * 60 * 60 * 1000

export default definePlugin({
  id: 'database',
  version: '1.0.0',
  kernel: '^1.0.0',
  carriesOut: ['entities', 'migrations'],
  requires: { kernel },
  provides: [database, databaseSecret],
  contributes: [healthCheck],
  config: databaseKeys,
  configGroups: { database: { en: 'Database', 'zh-CN': '数据库' } },
  migrations: changeSets,
  setupDeadlineMs,
  commands: [
    {
      name: 'migrate',
      summary: 'Bring the database up to date with the change sets of all plugins',
      options: migrateOptions,
      setsUp: 'needed',
      run: ({ own }, invocation) => runMigrate(own(database), invocation),
    },
  ],
  async setup(ctx) {
    const { plugins } = ctx.services.kernel
    const service = await DatabaseService.open({
      settings: connectionSettings(ctx.config, ctx.root),
      entities: plugins.flatMap(({ entities = [] }) => entities),
      changeSets: changeSetsOf(plugins),
      lockWaitMs: ctx.config.get('platform.database.migration-lock-wait'),
      clock: ctx.clock,
      log: ctx.log,
    })
    ctx.onStop(() => service.close())
    ctx.provide(database, service)
    ctx.provide(databaseSecret, Object.freeze({ password: ctx.config.get('platform.database.password') }))
    ctx.contribute(healthCheck, 'database', (signal) => service.ping(signal))
    if (!ctx.roles.has('web') && !ctx.roles.has('worker')) return

    await service.connect()
    if (ctx.config.get('platform.database.migrate-at-start')) {
      const { applied } = await service.migrate({
        signal: ctx.signal,
        onProgress: (progress) =>
          ctx.log[progress.kind === 'step' ? 'debug' : 'info']({ progress }, progressText(progress)),
      })
      if (applied.length > 0) ctx.log.info({ applied: applied.length, place: service.place }, 'database migrated')
      return
    }
    const { pending } = await service.migrationStatus()
    if (pending.length > 0) ctx.log.warn({ pending: pending.length }, 'change sets are pending; run `plinth migrate`')
    if (!pending.some(({ plugin }) => plugin === ctx.plugin.id)) await service.reserveIds()
  },
})
