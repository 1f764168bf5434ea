import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { ChainRow } from './chains/entities.ts'

export const chainTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ChainRow, {
    title: bilingual('Chains that the user changed last', '用户最后修改的链'),
    owner: { username: 'updated_by' },
    omit: ['providers'],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: bilingual('The chain belongs to the product.', '链配置属于产品。'),
  }),
]
