import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { CheckInRow, OrderRewardRow, ReversalRow, RuleRow, SourceRow, SourceUseRow, SubstituteRow } from './entities.ts'

const reason = bilingual(
  'Records of points must be complete, because the ledger is compared with them. The user id no longer identifies a person.',
  '积分记录须完整保留，用于与账本核对。用户编号不再指向任何人。',
)
const throughSource = { column: 'source_id', through: 'points_source', key: 'id', owner: 'user_id' } as const

/**
 * Tables with personal data of members. The deletion of a user also forfeits the remaining points and closes the
 * accounts.
 */
export const pointsTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, SourceUseRow, {
    title: bilingual('Uses of points', '积分使用明细'),
    owner: throughSource,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, SubstituteRow, {
    title: bilingual('Points that replace others after a refund', '退款时代扣的积分'),
    owner: throughSource,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, SourceRow, {
    title: bilingual('Points with their expiry', '积分批次'),
    owner: 'user_id',
    erasure: 'kept',
    reason,
  }),
  personalTable(db, OrderRewardRow, {
    title: bilingual('Points for orders', '订单积分'),
    owner: 'user_id',
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ReversalRow, {
    title: bilingual('Points taken back after refunds', '退款扣回的积分'),
    owner: 'user_id',
    erasure: 'kept',
    reason,
  }),
  personalTable(db, CheckInRow, { title: bilingual('Check-ins', '签到记录'), owner: 'user_id', erasure: 'removed' }),
  personalTable(db, RuleRow, {
    title: bilingual('Versions of rules that the user saved', '用户保存的规则版本'),
    owner: 'updated_by',
    erasure: 'anonymised',
    set: { updatedBy: null },
    reason: bilingual('A version shows how points were computed.', '规则版本是积分计算的依据。'),
  }),
]
