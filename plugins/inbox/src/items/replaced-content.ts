import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import { notificationCreated } from '../contract.ts'
import { ContentRow, ItemRow } from '../entities.ts'
import type { ContentReader } from './content-reader.ts'
import type { CheckedMessage } from './message-check.ts'

interface ReplacementDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'emit'>
  readonly contents: Pick<ContentReader, 'find'>
}

/**
 * Replaces the content of a message, if it is older. Its items stay in place and are unread again, also those that their
 * users have deleted. Does nothing if the message has no content yet.
 *
 * @param at time of the new content, in milliseconds since the epoch
 */
export async function replaceContent(
  { db, events, contents }: ReplacementDependencies,
  { messageId, subject, content, variables, jump, userIds }: CheckedMessage,
  at: number,
): Promise<void> {
  const createdAt = new Date(at)
  await db.transactional(async (em) => {
    const changes = { subject, content, variables, jump, createdAt } as object
    const replaced = await em.nativeUpdate(ContentRow, { messageId, createdAt: { $lt: createdAt } }, changes)
    const stored = replaced === 0 ? undefined : await contents.find(messageId)
    if (stored === undefined) return
    const { contentId } = stored
    const items = await em.find(ItemRow, { contentId, userId: { $in: [...userIds] } }, { fields: ['id', 'userId'] })
    for (const { id, userId } of items)
      await em.nativeUpdate(ItemRow, { id }, { ownerId: userId, module: jump.module, unread: true, readAt: null })
    if (items.length === 0) return
    events.emit(notificationCreated, {
      content: stored.content,
      userIds: items.map(({ userId }) => userId),
      itemIds: items.map(({ id }) => id),
    })
  })
}
