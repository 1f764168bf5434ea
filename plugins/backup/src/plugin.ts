import { resolve } from 'node:path'
import { database } from '@plinth/database'
import { moveContext } from '@plinth/database/stored-data'
import { auditTexts, definePlugin, healthCheck, kernel } from '@plinth/kernel'
import { DirectoryDisk, storage } from '@plinth/storage'
import { AgeCheck } from './age-check.ts'
import { type BackupSettings, backupSettings, commands } from './commands.ts'
import { keys } from './config.ts'
import type { Place } from './vault.ts'

const audited = {
  backup: {
    title: { en: 'Backup', 'zh-CN': '备份' },
    actions: { create: { en: 'Back up', 'zh-CN': '备份' } },
    facts: { id: { title: { en: 'Backup', 'zh-CN': '备份' } } },
  },
}

/** Directory of the backups on a storage disk. */
const prefix = 'backups/'

/** Encrypted backups of database, files and settings. Each one is restored into a scratch database before it counts. */
export default definePlugin({
  id: 'backup',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { kernel, database, moveContext, storage },
  provides: [backupSettings],
  contributes: [auditTexts.of(audited), healthCheck],
  config: keys,
  configGroups: { backup: { en: 'Backup', 'zh-CN': '备份' } },
  commands,
  setup({ services, config, root, roles, clock, provide, contribute }) {
    const { storage, moveContext } = services
    const { source, changeSets } = moveContext
    const diskName = config.get('platform.backup.disk')
    const directory = resolve(root, config.get('platform.backup.directory'))
    const place: Place = {
      name: diskName === '' ? directory : `the storage disk "${diskName}"`,
      prefix: diskName === '' ? '' : prefix,
      get disk() {
        return diskName === '' ? new DirectoryDisk(directory, 'private', clock) : storage.rawDisk(diskName)
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
    const age = new AgeCheck({ place, recipient, maxAgeMs: () => config.get('platform.backup.max-age'), clock })
    contribute(healthCheck, 'backup', async () => {
      // An instance must not wait for the place of the backups, because it serves without it.
      const checked = age.refresh()
      if (roles.has('cli')) await checked
      return { warnings: age.warnings }
    })
  },
})
