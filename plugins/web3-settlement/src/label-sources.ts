import type { LabelSource } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { callerLogs } from './caller-orders.ts'
import { permissionCodes } from './declarations.ts'
import { ReviewRow } from './entities.ts'

/** A search returns the newest 20 rows. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ id, outTradeNo }: Pick<ReviewRow, 'id' | 'outTradeNo'>) => ({ id, name: `${outTradeNo} (${id})` })

/** Labels of reviews. A label contains the order number and the id of the review. */
export const reviewLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.reviewView,
  scope: 'caller',
  async byIds(ids, request) {
    const numbers = ids.map(Number).filter(Number.isSafeInteger)
    return (await db.fork().find(ReviewRow, { $and: [{ id: { $in: numbers } }, callerLogs(request)] })).map(labelOf)
  },
  async search(text, request) {
    const where = { $and: [text === '' ? {} : { outTradeNo: text }, callerLogs(request)] }
    return (await findPage<ReviewRow>(db.fork(), ReviewRow, where, window)).items.map(labelOf)
  },
})
