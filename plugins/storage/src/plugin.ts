import { join, resolve } from 'node:path'
import { backOffice } from '@plinth/admin'
import { http } from '@plinth/http'
import {
  type Clock,
  definePlugin,
  errorReason,
  healthCheck,
  optional,
  service,
  stateFile,
  withinDeadline,
} from '@plinth/kernel'
import { adminRoutes, needsAttention, pages } from './admin-routes.ts'
import { directoryDriver, keys, standardDisks } from './config.ts'
import { type Disk, storage, storageDisk } from './contract.ts'
import { copyCommand } from './copy-command.ts'
import { businessError, messages, permissions, storageError } from './declarations.ts'
import { DirectoryDisk } from './directory-disk.ts'
import { DiskReports, directoryErrorOf } from './disk-reports.ts'
import { routes } from './routes.ts'
import { SigningKeys } from './signing-keys.ts'
import { StorageService } from './storage-service.ts'
import { removeUnfinishedFiles } from './tasks.ts'
import { uploads } from './upload-contract.ts'
import { type SharedQuota, UploadQuota } from './upload-quota.ts'
import { uploadRoutes } from './upload-routes.ts'
import { UploadService } from './upload-service.ts'
import { UrlSigner } from './url-signer.ts'

/** Time limit in milliseconds for the health check of a disk. It is shorter than every deadline of the readiness check. */
const checkMs = 400
/** Time limit in milliseconds for the test write, which continues after the health check. */
const verifyMs = 30_000

const diskName = /^[a-z0-9]+(?:-[a-z0-9]+)*$/

/** The clock of the database. It is required by its id, because storage does not depend on the database package. */
const databaseClock = service<{ readonly clock: Clock }>('database', { from: '@plinth/database' })

/** The store for state of all instances. It is required by its id, because it depends on the database package. */
const sharedStore = service<{ readonly quota: SharedQuota }>('shared-store', { from: '@plinth/shared-store' })

const requires = { http: optional(http), database: optional(databaseClock), sharedStore: optional(sharedStore) }

/** Files on public and private disks, with signed URLs (decision A15). */
export default definePlugin({
  id: 'storage',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [storage, uploads],
  extensionPoints: [storageDisk],
  contributes: [healthCheck, stateFile, ...backOffice({ pages, attention: needsAttention })],
  config: keys,
  configGroups: { storage: { en: 'Storage', 'zh-CN': '存储' } },
  permissions,
  messages,
  scheduledTasks: [removeUnfinishedFiles],
  commands: [copyCommand],
  setup(context) {
    const { services, config, clock, log, roles } = context
    const root = resolve(context.root, config.get('platform.storage.root'))
    const contributed = new Map(context.contributions(storageDisk))
    for (const name of contributed.keys()) {
      if (name in standardDisks || name === directoryDriver || !diskName.test(name))
        throw storageError('PLINTH_STORAGE_DISK_NAME', { disk: name })
    }
    const disks = new Map<string, Disk>()
    /** Checks the disk of a key now and before each change, and returns it. */
    const configuredDisk = (
      key: `platform.storage.${'public-disk' | 'local-disk' | `disks.${keyof typeof standardDisks}.driver`}`,
      needed: Disk['visibility'],
      known: ReadonlyMap<string, Disk>,
    ): Disk => {
      const find = (name: string): Disk => {
        const disk = known.get(name)
        if (disk === undefined) {
          throw storageError('PLINTH_STORAGE_DISK_UNKNOWN', { key, disk: name, disks: [...known.keys()].join(', ') })
        }
        const { visibility } = disk
        if (visibility !== needed)
          throw storageError('PLINTH_STORAGE_DISK_VISIBILITY', { key, disk: name, needed, visibility })
        return disk
      }
      config.onVerify(key, (name) => void find(name))
      return find(config.get(key))
    }
    const drivers = new Set<string>()
    for (const name of ['public', 'local'] as const) {
      const visibility = standardDisks[name]
      const key = `platform.storage.disks.${name}.driver` as const
      const known = new Map<string, Disk>([[directoryDriver, new DirectoryDisk(join(root, name), visibility, clock)]])
      for (const [driver, disk] of contributed) known.set(driver, disk)
      disks.set(name, configuredDisk(key, visibility, known))
      drivers.add(config.get(key))
    }
    // The files of a driver are listed once, under the name of the standard disk.
    for (const [name, disk] of contributed) if (!drivers.has(name)) disks.set(name, disk)
    configuredDisk('platform.storage.public-disk', 'public', disks)
    configuredDisk('platform.storage.local-disk', 'private', disks)

    const signingKeys = new SigningKeys(
      () => config.get('platform.storage.signing-key'),
      join(root, 'signing.key'),
      clock,
    )
    // Several instances sign and verify URLs, so they use the clock of the database.
    const sharedClock = services.database?.clock ?? clock
    const signer = new UrlSigner(signingKeys, sharedClock)
    const files = new StorageService({ config, root, disks, signer, clock, log })
    context.provide(storage, files)
    const quota = new UploadQuota({
      shared: services.sharedStore?.quota,
      clock,
      limits: () => ({
        userBytes: config.get('platform.storage.uploads.max-user-bytes'),
        totalBytes: config.get('platform.storage.uploads.max-total-bytes'),
      }),
      onFailure: (error) =>
        log.warn(
          { reason: errorReason(error) },
          'the shared store does not count uploads; this process counts its own',
        ),
    })
    const pending = new UploadService(files, clock, sharedClock, quota)
    context.provide(uploads, pending)
    context.contribute(stateFile, 'storage.signing-key', () => join(root, 'signing.key'))
    /** Returns a warning if a disk does not respond, or not in time. */
    const outageOf = (name: string, disk: Disk) =>
      withinDeadline(
        clock,
        checkMs,
        () => disk.verify(AbortSignal.timeout(verifyMs)),
        () => new Error(`The disk "${name}" does not respond within ${checkMs} ms.`),
      ).then(
        () => [],
        (error: unknown) => [errorReason(error)],
      )
    context.contribute(healthCheck, 'storage', async (signal) => {
      const isCommand = roles.has('cli')
      const outages: Promise<readonly string[]>[] = []
      for (const { name, enabled } of files.disks()) {
        if (!enabled) continue
        files.assertUsable(name)
        const disk = disks.get(name)
        if (disk instanceof DirectoryDisk) {
          // `plinth doctor` must not create files in directories.
          await (isCommand ? disk.inspect() : disk.verify()).catch((error: unknown) => {
            throw directoryErrorOf(name, error) ?? error
          })
        } else if (isCommand) await disk?.verify(signal)
        // All instances use the server of such a disk. While it is down, they serve everything but files.
        else if (disk !== undefined) outages.push(outageOf(name, disk))
      }
      return {
        warnings: [...(quota.warning === undefined ? [] : [quota.warning]), ...(await Promise.all(outages)).flat()],
      }
    })
    if (services.http !== undefined) {
      services.http.addRoutes(adminRoutes, { reports: new DiskReports({ storage: files, disks, clock }) })
      const publicMaxAgeMs = () => config.get('platform.storage.disks.public.max-age')
      services.http.addRoutes(routes, { storage: files, signer, publicMaxAgeMs })
      services.http.addRoutes(uploadRoutes, { uploads: pending })
    }

    if (!roles.has('worker')) return
    const stopped = new AbortController()
    context.onStop(() => stopped.abort())
    context.onReady(async () => {
      await files.sweep(stopped.signal).catch((error: unknown) => {
        log.warn({ reason: errorReason(error) }, 'incomplete files of dead processes could not be removed')
      })
    })
  },
})
