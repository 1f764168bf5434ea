import { countRows, type Database, findPage, firstIdAt, type PageWindow } from '@plinth/database'
import type { Identity, Principal } from '@plinth/iam'
import { type Category, type InboxItemView, moduleConditionOf } from '../contract.ts'
import { ContentRow, ItemRow } from '../entities.ts'
import type { ContentReader } from './content-reader.ts'

interface InboxFilter {
  readonly unreadOnly?: boolean | undefined
  readonly category?: Category | undefined
  readonly module?: string | undefined
  /** Part of the stored texts, before they are translated. */
  readonly keyword?: string | undefined
}

const maxUnread = 1_000

/** Condition for the rows of contents. Only an equation lets the database use the order of the index. */
const ofContents = ([first, ...more]: readonly number[]) => ({
  contentId: more.length === 0 ? first : { $in: [first, ...more] },
})

export class InboxReader {
  readonly #db: Database
  readonly #contents: ContentReader
  readonly #identity: Pick<Identity, 'rowsInScope'>

  constructor(db: Database, contents: ContentReader, identity: Pick<Identity, 'rowsInScope'>) {
    this.#db = db
    this.#contents = contents
    this.#identity = identity
  }

  async list(userId: number, filter: InboxFilter, window: PageWindow, locale: string) {
    const { unreadOnly, category, module, keyword = '' } = filter
    const where = {
      ownerId: userId,
      ...(unreadOnly === true ? { unread: true } : {}),
      ...(module === undefined ? {} : { module: module.trim().toLowerCase() }),
      ...(category === undefined ? {} : { $and: [{ module: moduleConditionOf(category) }] }),
    }
    const of = { entity: ContentRow, by: 'contentId' }
    const search = { text: keyword.trim(), properties: ['subject', 'content'], of }
    const found = await findPage<ItemRow>(this.#db.fork(), ItemRow, where, byIds(window), { search })
    return { ...found, items: await this.#viewsOf(found.items, locale) }
  }

  /** Counts unread items up to `maxUnread`, through an index. */
  async unreadCount(userId: number): Promise<{ count: number; capped: boolean }> {
    const unread = { where: 'owner_id = ? and unread = ?', parameters: [userId, true], orderBy: 'id' }
    const { total, isCapped } = await countRows(this.#db, { table: 'notification_inbox_item', ...unread }, maxUnread)
    return { count: total, capped: isCapped }
  }

  /**
   * Returns when users have read messages, with the subjects in the language `locale`. Contains only users in the data
   * scope of the caller.
   */
  async receipts(principal: Principal, messageId: string | undefined, window: PageWindow, locale: string) {
    const contentIds = messageId === undefined ? undefined : await this.#contents.idsOf(messageId)
    const where = {
      $and: [contentIds === undefined ? {} : ofContents(contentIds), this.#identity.rowsInScope(principal, 'user_id')],
    }
    const found = await findPage<ItemRow>(this.#db.fork(), ItemRow, where, window)
    const contents = await this.#contents.load(found.items.map((item) => item.contentId))
    const items = found.items.map(({ id, contentId, userId, readAt }) => ({
      id,
      messageId: contents.get(contentId)?.messageId ?? '',
      displaySubject: this.#contents.subjectOf(contents.get(contentId), locale),
      userId,
      readAt: readAt?.toISOString() ?? null,
    }))
    return { ...found, items }
  }

  async isInScope(principal: Principal, contentIds: readonly number[]): Promise<boolean> {
    const where = { $and: [ofContents(contentIds), this.#identity.rowsInScope(principal, 'user_id')] }
    return (await this.#db.fork().findOne(ItemRow, where)) !== null
  }

  async #viewsOf(items: readonly ItemRow[], locale: string): Promise<InboxItemView[]> {
    const contents = await this.#contents.load(items.map(({ contentId }) => contentId))
    const views = items.map(async ({ id, contentId, unread, readAt }) => {
      const content = contents.get(contentId)
      if (content === undefined) return []
      const shown = await this.#contents.present(content, locale)
      return [{ id, unread, readAt: readAt?.toISOString() ?? null, ...shown }]
    })
    return (await Promise.all(views)).flat()
  }
}

/**
 * Converts a range of times to a range of ids. An item has no column for its time, but its id contains the time of its
 * creation.
 */
function byIds({ range, ...window }: PageWindow): PageWindow {
  const bound = (ms: number | undefined) => (ms === undefined ? undefined : firstIdAt(ms))
  return range === undefined
    ? window
    : { ...window, range: { property: 'id', from: bound(range.from), to: bound(range.to) } }
}
