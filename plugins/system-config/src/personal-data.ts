import { type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { ConfigRow, HistoryRow } from './entities.ts'

const reason = bilingual(
  'Values of the configuration belong to the product. The history shows who changed what by the user id only.',
  '配置值属于产品。变更历史仅以用户编号记录操作者。',
)

/**
 * Changes of the configuration by users. Values are not exported, because they are not about the user. `sensitive` is a
 * reserved word of MariaDB.
 */
export const configTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ConfigRow, {
    title: bilingual('Configuration values that the user changed last', '用户最后修改的配置值'),
    owner: { username: 'updated_by' },
    omit: ['configValue', 'masterKeyId', 'sensitive'],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason,
  }),
  personalTable(db, HistoryRow, {
    title: bilingual('Configuration changes', '配置变更记录'),
    owner: 'actor_user_id',
    omit: ['oldValue', 'newValue', 'oldMasterKeyId', 'newMasterKeyId', 'sensitive'],
    erasure: 'anonymised',
    set: { actor: erasedName, reason: null },
    reason,
  }),
]
