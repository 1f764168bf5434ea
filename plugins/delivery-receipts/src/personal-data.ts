import { type Database, personalTable } from '@plinth/database'
import { type PersonalTable, bilingual as text } from '@plinth/kernel'
import { Confirmation } from './entities.ts'

/** Rows with the name of a user: the subscriptions that the user confirmed. The export omits the link of the provider. */
export const receiptTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, Confirmation.entity, {
    title: text('Receipt subscriptions that the user changed last', '用户最后修改的回执订阅'),
    owner: { username: 'updated_by' },
    omit: ['url', 'urlHash'],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: text('Only the name of the user is removed.', '仅移除用户名。'),
  }),
]
