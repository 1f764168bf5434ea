import { type Database, type PersonalCondition, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { AttachmentRow, ContentRow, ItemRow, MarkRow, OptOutRow, PreferenceRow } from './entities.ts'
import { PreferenceCellRow } from './preferences/entities.ts'
import { orphanedContentCleanup } from './tasks.ts'

const items = 'select 1 from notification_inbox_item where notification_inbox_item.content_id'

/** Selects contents that only this user has received. @param contentId column with the id of the content */
const ownContentOf =
  (contentId: string) =>
  (userId: number): PersonalCondition => ({
    sql: `exists (${items} = ${contentId} and notification_inbox_item.user_id = ?)
      and not exists (${items} = ${contentId} and notification_inbox_item.user_id <> ?)`,
    parameters: [userId, userId],
  })

/** Selects contents that other users have received too, which includes broadcasts. Otherwise like `ownContentOf`. */
const sharedContentOf =
  (contentId: string) =>
  (userId: number): PersonalCondition => ({
    sql: `(exists (${items} = ${contentId} and notification_inbox_item.user_id = ?)
      and exists (${items} = ${contentId} and notification_inbox_item.user_id <> ?)
      or exists (select 1 from notification_inbox_content c
        where c.id = ${contentId} and c.audience = 'all' and c.user_id_limit >= ?))`,
    parameters: [userId, userId, userId],
  })

const ownContent = { columns: ['id'], where: ownContentOf('notification_inbox_content.id') }
const sharedContent = { columns: ['id'], where: sharedContentOf('notification_inbox_content.id') }
const ownFiles = { columns: ['content_id'], where: ownContentOf('notification_inbox_attachment.content_id') }
const sharedFiles = { columns: ['content_id'], where: sharedContentOf('notification_inbox_attachment.content_id') }

const reason = bilingual(
  'Other recipients have the same message. It is removed with the last inbox that shows it.',
  '其他接收人也收到同一条消息，待最后一个收件箱删除后一并清除。',
)

/** Tables with personal data of a user. Content and attachments are removed with the last item that uses them. */
export const inboxTables = (db: Database): readonly PersonalTable[] => [
  {
    ...personalTable(db, AttachmentRow, {
      title: bilingual('Attachments of notifications to this user only', '仅发给该用户的通知附件'),
      owner: ownFiles,
      erasure: 'removed',
    }),
    erase: async () => 0,
  },
  personalTable(db, AttachmentRow, {
    title: bilingual('Attachments of notifications to several users', '发给多个用户的通知附件'),
    owner: sharedFiles,
    erasure: 'kept',
    reason,
  }),
  {
    ...personalTable(db, ContentRow, {
      title: bilingual('Notifications to this user only', '仅发给该用户的通知'),
      owner: ownContent,
      erasure: 'removed',
    }),
    erase: async () => 0,
  },
  personalTable(db, ContentRow, {
    title: bilingual('Notifications to several users', '发给多个用户的通知'),
    owner: sharedContent,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ItemRow, {
    title: bilingual('Inbox', '站内信'),
    owner: 'user_id',
    erasure: 'removed',
    tally: orphanedContentCleanup,
  }),
  personalTable(db, PreferenceCellRow, {
    title: bilingual('Notification preferences by channel and category', '按渠道和类别的通知偏好'),
    owner: 'user_id',
    erasure: 'removed',
  }),
  personalTable(db, MarkRow, {
    title: bilingual('Read and deleted messages to all users', '已读或已删除的全员消息'),
    owner: 'user_id',
    erasure: 'removed',
  }),
  personalTable(db, OptOutRow, {
    title: bilingual('Messages to all users that are hidden by preferences', '因偏好设置而隐藏的全员消息'),
    owner: 'user_id',
    erasure: 'removed',
  }),
  personalTable(db, PreferenceRow, {
    title: bilingual('Notification preferences', '通知偏好'),
    owner: 'user_id',
    erasure: 'removed',
  }),
]
