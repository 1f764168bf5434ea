import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { Sale } from './entities.ts'

/** Rows of buyers. */
export const checkoutTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Sale, {
    title: bilingual('Sales', '销售记录'),
    owner: 'user_id',
    erasure: 'kept',
    reason: bilingual(
      'Records of sales must be kept. The user id no longer identifies a person.',
      '销售记录依法须保留。用户编号不再指向任何人。',
    ),
  }),
]
