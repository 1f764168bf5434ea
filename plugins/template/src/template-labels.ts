import type { Label, LabelSource } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { permissionCodes } from './declarations.ts'
import { Template, type TemplateRow } from './entities.ts'

/** Rows that a search reads. A code has one row for each channel and language, so there are more rows than labels. */
const window = { orderBy: [{ property: 'code', direction: 'asc' }], size: 100, offset: 0, count: 'none' } as const

/**
 * Labels of templates. Their id is the code, because messages contain it. A search finds only the beginning of a code,
 * so that it uses an index.
 */
export const templateLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.view,
  scope: 'none',
  byIds: async (codes) => labelsOf(await db.fork().find(Template.entity, { code: { $in: [...codes] } })),
  async search(text) {
    const where = text === '' ? {} : { code: { $gte: text, $lt: `${text}\u{10ffff}` } }
    return labelsOf((await findPage<TemplateRow>(db.fork(), Template.entity, where, window)).items)
  },
})

/** Labels of single templates by their id, for links to a template and to its draft. */
export const templateIdLabels = (db: Database): LabelSource => {
  const named = (rows: readonly Pick<TemplateRow, 'id' | 'code' | 'channel' | 'locale'>[]) =>
    rows.map(({ id, code, channel, locale }) => ({ id: String(id), name: `${code} · ${channel} · ${locale}` }))
  return {
    permission: permissionCodes.view,
    scope: 'none',
    byIds: async (ids) =>
      named(await db.fork().find(Template.entity, { id: { $in: ids.map(Number).filter(Number.isSafeInteger) } })),
    async search(text) {
      const where = text === '' ? {} : { code: { $gte: text, $lt: `${text}\u{10ffff}` } }
      return named((await findPage<TemplateRow>(db.fork(), Template.entity, where, { ...window, size: 20 })).items)
    },
  }
}

function labelsOf(rows: readonly Pick<TemplateRow, 'code' | 'subject'>[]): readonly Label[] {
  const subjects = new Map(rows.map(({ code, subject }) => [code, subject]))
  return [...subjects].map(([id, subject]) => ({ id, name: subject === '' ? id : `${id} · ${subject}` })).slice(0, 20)
}
