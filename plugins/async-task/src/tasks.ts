import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPurgeTask } from '@plinth/coordination'
import { type Database, type database, findPage, type KeyValue } from '@plinth/database'
import { errorReason, type Logger, type ScheduledTaskContext } from '@plinth/kernel'
import type { storage } from '@plinth/storage'
import { Artifacts } from './artifacts.ts'
import type { keys } from './config.ts'
import { TaskRow } from './entities.ts'

type Uses = { requires: { database: typeof database; storage: typeof storage }; config: typeof keys }

/** Rows per batch. Small batches do not block other writers for long. */
const batch = 50
const longTexts = ['params', 'note', 'failure'] as const

/**
 * Removes finished tasks after their retention time. The files of a task are removed first. If this fails, the task
 * stays.
 */
export const purgeFinishedTasks = createPurgeTask<Uses>('platform.async-task', {
  displayName: { en: 'Remove old asynchronous tasks and their files', 'zh-CN': '清理旧的异步任务及其文件' },
  old: (context) => [
    {
      table: 'async_task',
      where: 'artifact_disk is null and finished_at < ?',
      parameters: [oldest(context)],
      orderBy: 'artifact_disk, finished_at, id',
    },
  ],
  async also(context, db) {
    const { services, log, signal } = context
    const files = { db, artifacts: new Artifacts(services.storage), before: oldest(context), log, signal }
    for (let disk = await diskAfter(db, ''); disk !== undefined; disk = await diskAfter(db, disk)) {
      await purgeWithFiles({ ...files, disk })
    }
  },
})

const oldest = ({ config, clock }: Pick<ScheduledTaskContext<Uses>, 'config' | 'clock'>) =>
  new Date(clock.now() - config.get('platform.async-task.retention'))

/** Returns the next disk in alphabetical order that stores task files. Reads one index entry. */
async function diskAfter(db: Database, name: string): Promise<string | undefined> {
  const statement = 'select min(artifact_disk) as disk from async_task where artifact_disk > ?'
  const [row] = await db.query<{ disk: string | null }>(statement, [name])
  return row?.disk ?? undefined
}

interface FilesPurge {
  readonly db: Database
  readonly artifacts: Artifacts
  readonly disk: string
  readonly before: Date
  readonly log: Logger
  readonly signal: AbortSignal
}

async function purgeWithFiles({ db, artifacts, disk, before, log, signal }: FilesPurge): Promise<void> {
  const where = { artifactDisk: disk, finishedAt: { $lt: before } }
  const window = {
    orderBy: [{ property: 'finishedAt', direction: 'asc' }],
    size: batch,
    offset: 0,
    count: 'none',
  } as const
  let after: readonly KeyValue[] | undefined
  do {
    const em = db.fork()
    const { items, next } = await findPage(em, TaskRow, where, { ...window, after }, { exclude: longTexts })
    after = next ?? undefined
    const removed: number[] = []
    for (const { id } of items) {
      if (signal.aborted) break
      try {
        await artifacts.remove(id, disk)
        removed.push(id)
      } catch (error) {
        log.warn({ taskId: id, reason: errorReason(error) }, 'files of an old task could not be removed')
      }
    }
    if (removed.length > 0) await em.nativeDelete(TaskRow, { id: { $in: removed } })
    await nextTurn()
  } while (after !== undefined && !signal.aborted)
}
