import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { AppRow, appOwnerColumn, CallDayRow, CallRow, usageOwner } from './entities.ts'

const secrets = ['secretEnc', 'previousSecretEnc'] as const
const reason = bilingual(
  'The application belongs to a company, not to a person. It stays without an owner.',
  '应用属于企业而非个人，将保留但不再有负责人。',
)
const metered = bilingual(
  'Usage of an application, until the retention time of the metering. It contains no user.',
  '应用的用量记录，保留至计量保留时间结束，其中不含用户。',
)

export const openPlatformTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, CallRow, {
    title: bilingual('Calls of applications of the user', '用户名下应用的调用记录'),
    owner: usageOwner,
    erasure: 'kept',
    reason: metered,
  }),
  personalTable(db, CallDayRow, {
    title: bilingual('Daily usage of applications of the user', '用户名下应用的每日用量'),
    owner: usageOwner,
    erasure: 'kept',
    reason: metered,
  }),
  personalTable(db, AppRow, {
    title: bilingual('Applications that the user changed last', '用户最后修改的应用'),
    owner: { username: 'updated_by' },
    // The export must not contain the owner, who may be another user.
    omit: [...secrets, 'ownerUserId'],
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason,
  }),
  personalTable(db, AppRow, {
    title: bilingual('Applications of the user', '用户名下的应用'),
    owner: appOwnerColumn,
    omit: [...secrets, 'updatedBy'],
    erasure: 'anonymised',
    set: { ownerUserId: null },
    reason,
  }),
]
