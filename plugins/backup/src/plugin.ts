import { resolve } from 'node:path'
import { adminPages, attention } from '@plinth/admin'
import { asyncTasks } from '@plinth/async-task'
import { database } from '@plinth/database'
import { moveContext } from '@plinth/database/stored-data'
import { backupCompleted, backupFailed, events } from '@plinth/events'
import { http } from '@plinth/http'
import { auditTexts, definePlugin, errorReason, healthCheck, kernel, optional } from '@plinth/kernel'
import { DirectoryDisk, storage } from '@plinth/storage'
import { needsAttention, pages } from './admin-pages.ts'
import { AgeCheck } from './age-check.ts'
import { BackupReports } from './backup-reports.ts'
import { type BackupSettings, backupSettings, commands } from './commands.ts'
import { keys } from './config.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { backupError } from './errors.ts'
import { auditRestore } from './restore-note.ts'
import { routes } from './routes.ts'
import { backupSchedule, handleTasks, makeDueBackup } from './tasks.ts'
import type { Place } from './vault.ts'

/** Directory of the backups on a storage disk. */
const prefix = 'backups/'

/**
 * Encrypted backups of database, files and settings. Each one is restored into a scratch database before it counts. With
 * `http` and `async-task`, operators make backups in the back office. With `scheduler`, the product makes them itself.
 */
export default definePlugin({
  id: 'backup',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires: {
    kernel,
    database,
    moveContext,
    storage,
    events: optional(events),
    http: optional(http),
    tasks: optional(asyncTasks),
  },
  provides: [backupSettings, backupSchedule],
  contributes: [auditTexts.of(audited), healthCheck, optional(adminPages), optional(attention)],
  config: keys,
  configGroups: { backup: { en: 'Backup', 'zh-CN': '备份' } },
  permissions,
  messages,
  scheduledTasks: [makeDueBackup],
  commands,
  setup({ services, config, root, roles, clock, log, redact, provide, contribute, onReady }) {
    const { storage, moveContext, kernel, database: db, http, tasks } = services
    const { source, changeSets } = moveContext
    const diskName = config.get('platform.backup.disk')
    const directory = resolve(root, config.get('platform.backup.directory'))
    const place: Place = {
      name: diskName === '' ? directory : `the storage disk "${diskName}"`,
      prefix: diskName === '' ? '' : prefix,
      get disk() {
        if (diskName === '') return new DirectoryDisk(directory, 'private', clock)
        const disk = storage.rawDisk(diskName)
        if (disk.visibility === 'private') return disk
        throw backupError('PLINTH_BACKUP_PLACE', {
          place: place.name,
          reason: 'everybody can read the files of this disk',
        })
      },
      isOwn: (disk, path) => disk === diskName && path.startsWith(prefix),
    }
    const recipient = config.get('platform.backup.recipient')
    const settings: BackupSettings = {
      place,
      recipient,
      database: source,
      changeSets,
      root,
      clock,
      redact,
      toolsDirectory: config.get('platform.backup.tools-directory'),
      workDirectory: resolve(root, config.get('platform.backup.work-directory')),
      get disks() {
        return new Map(config.get('platform.backup.disks').map((name) => [name, storage.rawDisk(name)]))
      },
      get retention() {
        return {
          daily: config.get('platform.backup.keep-daily'),
          weekly: config.get('platform.backup.keep-weekly'),
          monthly: config.get('platform.backup.keep-monthly'),
        }
      },
    }
    provide(backupSettings, settings)
    provide(backupSchedule, {
      place,
      recipient,
      get intervalMs() {
        return config.get('platform.backup.interval')
      },
    })
    const age = new AgeCheck({
      place,
      product: kernel.product.name,
      recipient,
      maxAgeMs: () => config.get('platform.backup.max-age'),
      clock,
      log,
    })
    contribute(healthCheck, 'backup', async () => {
      // An instance must not wait for the place of the backups, because it serves without it.
      const checked = age.refresh()
      if (roles.has('cli')) await checked
      return { warnings: age.warnings.map(({ text }) => text) }
    })
    services.events?.declarePublished(backupCompleted, backupFailed)
    onReady(async () => {
      if (roles.has('cli')) return
      await auditRestore(settings, kernel, (work) => db.transactional(work)).catch((error: unknown) => {
        log.warn({ reason: errorReason(error) }, 'a restore could not be recorded in the audit')
      })
    })
    if (http === undefined || tasks === undefined) return
    const reports = new BackupReports({ place, clock, log })
    http.addRoutes(routes, { kernel, db, tasks, reports, age, recipient })
    handleTasks(tasks, { kernel, clock, log })
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const one of needsAttention) contribute(attention, one.id, one)
  },
})
