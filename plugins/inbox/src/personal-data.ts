import { type Database, type PersonalCondition, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import { AttachmentRow, ContentRow, ItemRow, PreferenceRow } from './entities.ts'
import { PreferenceCellRow } from './preferences/entities.ts'
import { orphanedContentCleanup } from './tasks.ts'

const items = 'select 1 from notification_inbox_item where notification_inbox_item.content_id'

/**
 * Selects contents that only this user has received, or that others have received too. @param contentId column with the
 * id of the content
 */
const contentOf =
  (contentId: string, isShared: boolean) =>
  (userId: number): PersonalCondition => ({
    sql: `exists (${items} = ${contentId} and notification_inbox_item.user_id = ?)
      and ${isShared ? '' : 'not '}exists (${items} = ${contentId} and notification_inbox_item.user_id <> ?)`,
    parameters: [userId, userId],
  })

const ownContent = { columns: ['id'], where: contentOf('notification_inbox_content.id', false) }
const sharedContent = { columns: ['id'], where: contentOf('notification_inbox_content.id', true) }
const ownFiles = { columns: ['content_id'], where: contentOf('notification_inbox_attachment.content_id', false) }
const sharedFiles = { columns: ['content_id'], where: contentOf('notification_inbox_attachment.content_id', true) }

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
  personalTable(db, PreferenceRow, {
    title: bilingual('Notification preferences', '通知偏好'),
    owner: 'user_id',
    erasure: 'removed',
  }),
]
