import { setImmediate as nextTurn } from 'node:timers/promises'
import type { database } from '@plinth/database'
import { reasonOf, type ScheduledTask } from '@plinth/kernel'
import type { storage } from '@plinth/storage'
import { Artifacts } from './artifacts.ts'
import type { keys } from './config.ts'
import { TaskRow } from './entities.ts'

type Requires = { readonly database: typeof database; readonly storage: typeof storage }

/** Small enough not to hold up others that write. */
const batch = 50

/** Removes finished tasks past their retention, the files first: a task whose files cannot be removed stays. */
export const purgeTask: ScheduledTask<Requires, typeof keys> = {
  name: 'async-task.purge',
  displayName: { en: 'Remove old asynchronous tasks and their files', 'zh-CN': '清理旧的异步任务及其文件' },
  fixedDelay: 'platform.async-task.purge.fixed-delay',
  autoStartup: 'platform.async-task.purge.auto-startup',
  async run({ services, config, clock, log, signal }) {
    const artifacts = new Artifacts(services.storage)
    const before = new Date(clock.now() - config.get('platform.async-task.retention'))
    let after = 0
    let found = batch
    while (found === batch && !signal.aborted) {
      const em = services.database.fork()
      const where = { finishedAt: { $lt: before }, id: { $gt: after } }
      const fields = ['id', 'artifactDisk'] as const
      const old = await em.find(TaskRow, where, { fields, orderBy: { id: 'asc' }, limit: batch })
      const removed: number[] = []
      for (const { id, artifactDisk } of old) {
        after = id
        if (signal.aborted) break
        try {
          await artifacts.remove(id, artifactDisk ?? null)
          removed.push(id)
        } catch (error) {
          log.warn({ taskId: id, reason: reasonOf(error) }, 'files of an old task could not be removed')
        }
      }
      if (removed.length > 0) await em.nativeDelete(TaskRow, { id: { $in: removed } })
      found = old.length
      await nextTurn()
    }
  },
}
