import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { orderOwnerColumn, ownerThroughOrder } from './contract.ts'
import { PaymentOrderRow, PaymentTransactionRow } from './entities.ts'

const reason = bilingual(
  'Payment records must be kept. The user id no longer identifies a person.',
  '支付记录依法须保留。用户编号不再指向任何人。',
)

export const paymentTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, PaymentTransactionRow, {
    title: bilingual('Payment transactions', '支付流水'),
    owner: ownerThroughOrder('out_trade_no'),
    erasure: 'kept',
    reason,
  }),
  personalTable(db, PaymentOrderRow, {
    title: bilingual('Payment orders', '支付订单'),
    owner: orderOwnerColumn,
    omit: ['fingerprint'],
    erasure: 'kept',
    reason,
  }),
]
