import type { Database } from '@plinth/database'
import { ownerOfName, type Plugin, type PluginDataStore } from '@plinth/kernel'

/**
 * Finds the events of a plugin, for the removal of the plugin. They stay: handlers of other plugins may still need them,
 * and events without handlers are finished. All events are removed after their retention time.
 */
export const eventData = (db: Database, plugins: readonly Pick<Plugin, 'id'>[]): PluginDataStore => ({
  async find({ id }) {
    const rows = await db.query<{ type: string; n: number | string }>(
      'select type, count(*) as n from outbox_event where type = ? or type like ? group by type order by type',
      [id, `${id}.%`],
    )
    return rows
      .filter(({ type }) => ownerOfName(type, plugins) === id)
      .map(({ type, n }) => ({ kind: 'events', name: type, rows: Number(n), isKept: true }))
  },
  async remove() {},
})
