import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import type { Artifacts } from './artifacts.ts'
import { TaskRow } from './entities.ts'

/** Small batches do not block other writers for long. */
const batch = 50

/** Tasks of users. Erasing removes the files of a task before its row, so that an interrupted erasure finds them again. */
export const taskTables = (db: Database, artifacts: Artifacts): readonly PersonalTable[] => [
  {
    ...personalTable(db, TaskRow, {
      title: bilingual('Background tasks, with their files', '后台任务及其文件'),
      owner: 'owner_id',
      erasure: 'removed',
    }),
    async erase({ userId }, signal) {
      let removed = 0
      for (;;) {
        signal.throwIfAborted()
        const em = db.fork()
        const window = { fields: ['id', 'artifactDisk'], orderBy: { id: 'asc' }, limit: batch } as const
        const tasks = await em.find(TaskRow, { ownerId: userId }, window)
        if (tasks.length === 0) return removed
        for (const { id, artifactDisk } of tasks) await artifacts.remove(id, artifactDisk ?? artifacts.disk)
        removed += await em.nativeDelete(TaskRow, { id: { $in: tasks.map(({ id }) => id) } })
      }
    },
  },
]
