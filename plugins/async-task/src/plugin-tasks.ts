import type { Database } from '@plinth/database'
import { ownerOfName, type Plugin, type PluginDataStore } from '@plinth/kernel'
import type { Artifacts } from './artifacts.ts'
import { TaskRow } from './entities.ts'

/** Tasks that one statement reads. */
const batch = 50

/** Finds and removes the tasks of a plugin with their files, for the removal of the plugin. */
export function pluginTasks(
  db: Database,
  artifacts: Artifacts,
  plugins: readonly Pick<Plugin, 'id'>[],
): PluginDataStore {
  const typesOf = async (id: string) => {
    const rows = await db.query<{ type: string; n: number | string }>(
      'select type, count(*) as n from async_task where type = ? or type like ? group by type order by type',
      [id, `${id}.%`],
    )
    return rows.filter(({ type }) => ownerOfName(type, plugins) === id)
  }
  return {
    async find({ id }) {
      return (await typesOf(id)).map(({ type, n }) => ({ kind: 'asynchronous tasks', name: type, rows: Number(n) }))
    },
    async remove({ id }) {
      const types = (await typesOf(id)).map(({ type }) => type)
      const window = { fields: ['id', 'artifactDisk'], orderBy: { id: 'asc' }, limit: batch } as const
      for (;;) {
        const em = db.fork()
        const tasks = await em.find(TaskRow, { type: { $in: types } }, window)
        if (tasks.length === 0) return
        for (const { id: task, artifactDisk } of tasks) await artifacts.remove(task, artifactDisk ?? artifacts.disk)
        await em.nativeDelete(TaskRow, { id: { $in: tasks.map((task) => task.id) } })
      }
    },
  }
}
