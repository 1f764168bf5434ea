import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { ownerThroughOrder } from '@plinth/money/payments'
import { AuditRow, CallbackRow, RetryCountRow, ReviewRow } from './entities.ts'

const owner = ownerThroughOrder('out_trade_no')
const reason = bilingual(
  'Payment records must be kept, until the retention time of settlement logs. The user id no longer identifies a person.',
  '支付记录依法须保留，至结算日志保留时间结束。用户编号不再指向任何人。',
)

export const settlementTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ReviewRow, {
    title: bilingual('Settlement reviews of orders', '订单的结算复核'),
    owner,
    omit: ['actorUserId', 'permissionSnapshot', 'remark'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ReviewRow, {
    title: bilingual('Settlement reviews that the user made', '用户提交的结算复核'),
    owner: 'actor_user_id',
    // Omitted, because the plan describes the order of another user.
    omit: ['planSnapshot'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, CallbackRow, {
    title: bilingual('Settlement attempts of orders', '订单的结算记录'),
    owner,
    omit: ['actorUserId'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, CallbackRow, {
    title: bilingual('Settlement attempts that the user started', '用户发起的结算'),
    owner: 'actor_user_id',
    erasure: 'kept',
    reason,
  }),
  personalTable(db, RetryCountRow, {
    title: bilingual('Settlement retries of orders', '订单的结算重试次数'),
    owner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, AuditRow, {
    title: bilingual('Settlement audits of orders', '订单的结算审计'),
    owner,
    omit: ['handledBy'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, AuditRow, {
    title: bilingual('Settlement audits that the user handled', '用户处理的结算审计'),
    owner: { username: 'handled_by' },
    omit: ['confirmationSnapshot'],
    erasure: 'anonymised',
    set: { handledBy: null },
    reason,
  }),
]
