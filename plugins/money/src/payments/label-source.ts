import type { LabelSource } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { callerRows } from '@plinth/iam'
import { orderOwnerColumn } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { PaymentOrderRow } from './entities.ts'

/** A search returns the newest 20 rows. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ outTradeNo }: Pick<PaymentOrderRow, 'outTradeNo'>) => ({ id: outTradeNo, name: outTradeNo })

/** The id of a label is the order number. */
export const orderLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.paymentView,
  scope: 'caller',
  async byIds(ids, request) {
    const where = { $and: [{ outTradeNo: { $in: [...ids] } }, callerRows(request, orderOwnerColumn)] }
    return (await db.fork().find(PaymentOrderRow, where)).map(labelOf)
  },
  async search(text, request) {
    const where = { $and: [text === '' ? {} : { outTradeNo: text }, callerRows(request, orderOwnerColumn)] }
    return (await findPage<PaymentOrderRow>(db.fork(), PaymentOrderRow, where, window)).items.map(labelOf)
  },
})
