import { type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { viewDefinitions } from './declarations.ts'
import { Definition } from './entities.ts'

const first = { orderBy: [{ property: 'code', direction: 'asc' }], size: maxLabels, offset: 0, count: 'none' } as const
const labelOf = ({ id, code }: { readonly id: number; readonly code: string }) => ({ id, name: code })

/** Codes of the digests, by id. */
export const definitionLabels = (db: Database): LabelSource => ({
  permission: viewDefinitions.code,
  scope: 'none',
  async byIds(ids) {
    const numbers = ids.map(Number).filter(Number.isSafeInteger)
    return (await db.fork().find(Definition.entity, { id: { $in: numbers } })).map(labelOf)
  },
  search: async (text) =>
    (await findPage(db.fork(), Definition.entity, {}, first, { search: { text, properties: ['code'] } })).items.map(
      labelOf,
    ),
})
