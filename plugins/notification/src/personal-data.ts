import { type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { NotificationPartRow, NotificationRow, SendLogRow } from './entities.ts'
import { messageParts, sendLogCountUpdate } from './send-log/tasks.ts'

export const notificationTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, SendLogRow, {
    title: bilingual('Sends to the user', '发给用户的发送记录'),
    owner: 'user_id',
    omit: ['payload', 'addressKey'],
    erasure: 'removed',
    tally: sendLogCountUpdate,
  }),
  {
    ...personalTable(db, NotificationPartRow, {
      title: bilingual('Progress of messages to the user', '发给用户的消息进度'),
      owner: { column: 'notification_id', through: 'notification_message', key: 'id', owner: 'user_id' },
      erasure: 'removed',
    }),
    // Nothing to erase here, because the parts are removed together with their message.
    erase: async () => 0,
  },
  personalTable(db, NotificationRow, {
    title: bilingual('Messages to the user', '发给用户的消息'),
    owner: 'user_id',
    omit: ['payload', 'senderId', 'senderName'],
    erasure: 'removed',
    dependents: messageParts,
  }),
  personalTable(db, NotificationRow, {
    title: bilingual('Messages that the user sent', '用户发送的消息'),
    owner: 'sender_id',
    omit: ['payload', 'userId', 'orgId'],
    erasure: 'anonymised',
    set: { senderId: null, senderName: null },
    reason: bilingual('The message belongs to its recipients.', '消息属于其接收人。'),
  }),
]
