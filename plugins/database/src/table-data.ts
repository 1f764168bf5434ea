import type { PluginData } from '@plinth/kernel'
import type { DatabaseService } from './database-service.ts'

/** Tables and applied change sets, for the removal of a plugin. */
export const tableData = (service: Pick<DatabaseService, 'dataOf' | 'removeDataOf'>): PluginData => ({
  async find({ id }) {
    const { tables, changeSets } = await service.dataOf(id)
    const found = tables.map(({ table, rows }) => ({ kind: 'table', name: table, rows }))
    return changeSets === 0 ? found : [...found, { kind: 'change-sets', name: 'schema_changelog', rows: changeSets }]
  },
  remove: ({ id }) => service.removeDataOf(id),
})
