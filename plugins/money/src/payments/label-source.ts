import { type Database, findPage } from '@plinth/database'
import type { LabelSource } from '@plinth/http'
import { PaymentOrderRow } from './entities.ts'
import { own } from './permissions.ts'

/** Names that one question answers. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ outTradeNo: id, scene }: Pick<PaymentOrderRow, 'outTradeNo' | 'scene'>) => ({
  id,
  name: `${id} · ${scene}`,
})

/** Payment orders by their numbers. */
export const orderLabels = (db: Database): LabelSource => ({
  permission: own.paymentView,
  byIds: async (ids) => (await db.fork().find(PaymentOrderRow, { outTradeNo: { $in: [...ids] } })).map(labelOf),
  async search(text) {
    const where = text === '' ? {} : { outTradeNo: text }
    return (await findPage<PaymentOrderRow>(db.fork(), PaymentOrderRow, where, window)).items.map(labelOf)
  },
})
