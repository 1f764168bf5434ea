import { type AsyncTasks, type TaskType, taskType } from '@plinth/async-task'
import type { database } from '@plinth/database'
import { Type } from '@plinth/http'
import { type Clock, type Kernel, type kernel, type Logger, type ScheduledTask, service } from '@plinth/kernel'
import type { keys } from './config.ts'
import { isRunAlive } from './create.ts'
import { businessError } from './declarations.ts'
import { startOf } from './format.ts'
import { CommandError, runCommand } from './run-command.ts'
import { stepOf } from './steps.ts'
import { type BackupList, listBackupsWithin, newestBackup, ofProduct, type Place } from './vault.ts'

/** Interval in milliseconds at which the schedule checks the age of the newest backup. */
const checkMs = 15 * 60_000
/** Time in milliseconds after a failed backup until the schedule tries again. */
const retryMs = 60 * 60_000
/** Time limit for reading the place, in milliseconds. */
const readMs = 60_000

const lane = 'network'
const nothing = Type.Object({})

export const createTask = taskType('backup.create', {
  displayName: { en: 'Back up', 'zh-CN': '备份' },
  params: nothing,
  lane,
})
export const verifyTask = taskType('backup.verify', {
  displayName: { en: 'Verify a backup', 'zh-CN': '校验备份' },
  params: Type.Object({ id: Type.String({ maxLength: 32 }) }),
  lane,
})
export const pruneTask = taskType('backup.prune', {
  displayName: { en: 'Delete expired backups', 'zh-CN': '删除过期备份' },
  params: nothing,
  lane,
})
export const taskTypes: readonly TaskType[] = [createTask, verifyTask, pruneTask]

interface TaskDependencies {
  readonly kernel: Pick<Kernel, 'commandLine'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'error'>
}

/** Adds the handlers of the tasks. Each runs a command, whose error is in the log. */
export function handleTasks(tasks: AsyncTasks, { kernel, clock, log }: TaskDependencies): void {
  const wordsOf = {
    [createTask.id]: () => ['create'],
    [verifyTask.id]: ({ id }: { readonly id: string }) => ['verify', id],
    [pruneTask.id]: () => ['prune'],
  }
  for (const type of taskTypes) {
    tasks.handle(type, async (params, { signal, progress }) => {
      const words = wordsOf[type.id]?.(params as { readonly id: string }) ?? []
      const onProgress = (line: string) => {
        const step = stepOf(line)
        if (step !== undefined) progress(step.percent, step.text)
      }
      await runCommand(kernel, { words, requester: 'user', signal, clock, onProgress }).catch((error: unknown) => {
        if (signal.aborted) throw error
        log.error({ err: error, command: words.join(' ') }, 'a command for backups failed')
        throw businessError(...failureOf(error))
      })
    })
  }
}

const failureOf = (error: unknown): Parameters<typeof businessError> => {
  const code = error instanceof CommandError ? error.code : 'PLINTH_BACKUP_PROGRAM'
  if (code === 'PLINTH_BACKUP_RUNNING') return ['running']
  return ['failed', { params: { code } }]
}

/** Settings that the schedule needs. */
export interface BackupSchedule {
  readonly place: Place
  readonly recipient: string
  readonly intervalMs: number
}
export const backupSchedule = service<BackupSchedule>('backup.schedule', { from: '@plinth/backup' })

/**
 * Returns false while a backup is made, because a second one would fail.
 *
 * @param list without backups of other products
 * @param now milliseconds since the epoch
 */
export function isBackupDue(list: BackupList, intervalMs: number, now: number): boolean {
  if (list.unfinished.some(([, run]) => run !== undefined && isRunAlive(run, now))) return false
  const [newest, lastFailure] = [newestBackup(list, intervalMs, now), list.failed[0]]
  if (newest !== undefined && now - Date.parse(newest.createdAt) < intervalMs) return false
  return lastFailure === undefined || Math.abs(now - startOf(lastFailure[0].id)) >= retryMs
}

type Uses = {
  requires: { kernel: typeof kernel; database: typeof database }
  provides: readonly [typeof backupSchedule]
  config: typeof keys
}

export const makeDueBackup: ScheduledTask<Uses> = {
  name: 'backup.create',
  displayName: { en: 'Back up if a backup is due', 'zh-CN': '到期时备份' },
  fixedDelay: checkMs,
  autoStartup: 'platform.backup.auto-startup',
  async run({ services, own, log, signal }) {
    const { place, recipient, intervalMs } = own(backupSchedule)
    if (recipient === '') return
    const { clock } = services.database
    const list = ofProduct(await listBackupsWithin(place, clock, readMs), services.kernel.product.name)
    if (!isBackupDue(list, intervalMs, clock.now())) return
    const onProgress = (line: string) => log.debug({ line }, 'backup')
    await runCommand(services.kernel, { words: ['create'], requester: 'scheduler', signal, clock, onProgress })
  },
}
