import { filterLabels, type LabelSource } from '@plinth/admin'
import type { Database } from '@plinth/database'
import { Depot } from './depot.ts'
import { editDepots } from './routes.ts'

/** Names of depots, so that the pages of other plugins can show names instead of ids. */
export const depotLabels = (db: Database): LabelSource => ({
  permission: editDepots,
  scope: 'none',
  byIds: (ids) => db.fork().find(Depot, { id: ids.map(Number).filter(Number.isSafeInteger) }),
  search: async (text) => filterLabels(await db.fork().findAll(Depot), text),
})
