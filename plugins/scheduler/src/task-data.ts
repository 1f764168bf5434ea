import type { Database } from '@plinth/database'
import type { PluginData } from '@plinth/kernel'
import type { BoundScheduledTask } from '@plinth/kernel/host'
import { RunRow, TaskRow } from './entities.ts'

/** State and runs of the scheduled tasks of a plugin, for the removal of the plugin. */
export function taskData(db: Database, tasks: readonly BoundScheduledTask[]): PluginData {
  const namesOf = (plugin: string) => tasks.filter((task) => task.plugin === plugin).map(({ name }) => name)
  return {
    async find({ id }) {
      const found = namesOf(id).map(async (name) => [
        { kind: 'scheduled task', name, rows: await db.fork().count(TaskRow, { name }) },
        { kind: 'runs of scheduled task', name, rows: await db.fork().count(RunRow, { task: name }) },
      ])
      return (await Promise.all(found)).flat().filter(({ rows }) => rows > 0)
    },
    remove: ({ id }) =>
      db.transactional(async (em) => {
        await em.nativeDelete(RunRow, { task: { $in: namesOf(id) } })
        await em.nativeDelete(TaskRow, { name: { $in: namesOf(id) } })
      }),
  }
}
