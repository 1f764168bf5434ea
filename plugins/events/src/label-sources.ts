import { type LabelSource, maxLabels } from '@plinth/admin'
import type { Database } from '@plinth/database'
import { permissionCodes } from './declarations.ts'
import { EventRow } from './entities.ts'

/** Names of events: their types. */
export const eventLabels = (db: Database): LabelSource => {
  const labelsOf = (rows: readonly EventRow[]) => rows.map(({ id, type }) => ({ id, name: type }))
  return {
    permission: permissionCodes.view,
    scope: 'all',
    byIds: async (ids) =>
      labelsOf(await db.fork().find(EventRow, { id: { $in: ids.map(Number).filter(Number.isSafeInteger) } })),
    search: async (text) =>
      labelsOf(await db.fork().find(EventRow, { type: text }, { orderBy: { id: 'desc' }, limit: maxLabels })),
  }
}
