import { type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { AuditRow, StateRow } from './entities.ts'

const reason = bilingual(
  'The record of the installation proves what was done to the product.',
  '安装记录证明对产品执行过哪些操作。',
)

/** Actions of operators on the installation. */
export const installTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, AuditRow, {
    title: bilingual('Actions on the installation', '安装操作记录'),
    owner: { username: 'operator' },
    erasure: 'anonymised',
    set: { operator: erasedName, clientIp: '', userAgent: '' },
    reason,
  }),
  personalTable(db, StateRow, {
    title: bilingual('State of the installation that the user changed last', '用户最后修改的安装状态'),
    owner: { username: 'changed_by' },
    erasure: 'anonymised',
    set: { changedBy: erasedName },
    reason,
  }),
]
