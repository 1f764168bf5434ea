import { type Database, findPage } from '@plinth/database'
import type { LabelSource } from '@plinth/http'
import { ReviewLog } from './entities.ts'
import { own } from './permissions.ts'

/** Names that one question answers. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ id, outTradeNo }: Pick<ReviewLog, 'id' | 'outTradeNo'>) => ({ id, name: `${outTradeNo} (${id})` })

/** Reviews by the orders that they are of. */
export const reviewLabels = (db: Database): LabelSource => ({
  permission: own.reviewView,
  async byIds(ids) {
    const numbers = ids.map(Number).filter(Number.isSafeInteger)
    return (await db.fork().find(ReviewLog, { id: { $in: numbers } })).map(labelOf)
  },
  async search(text) {
    const where = text === '' ? {} : { outTradeNo: text }
    return (await findPage<ReviewLog>(db.fork(), ReviewLog, where, window)).items.map(labelOf)
  },
})
