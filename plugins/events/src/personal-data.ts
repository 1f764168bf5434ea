import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { EventRow, StreamRow } from './entities.ts'

const reason = bilingual(
  'All handlers must process an event. It is removed after the retention time of events, or when an operator skips it.',
  '事件须由所有处理程序处理完毕，之后在事件保留时间结束或被操作员跳过后清除。',
)

/** Events in the order of a user. Events with other keys may contain user ids and are removed in the same way. */
export const eventTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, EventRow, {
    title: bilingual('Events about the user', '与用户相关的事件'),
    owner: { actor: 'stream_key' },
    omit: ['leaseToken'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, StreamRow, {
    title: bilingual('Position of events about the user', '与用户相关的事件序号'),
    owner: { actor: 'stream_key' },
    erasure: 'kept',
    reason,
  }),
]
