import { raw } from '@mikro-orm/core'
import { countRows, type Database, findPage, firstIdAt, type PageWindow } from '@plinth/database'
import type { Identity, Principal } from '@plinth/iam'
import type { InboxItemView } from '../contract.ts'
import { ContentRow, ItemRow, MarkRow } from '../entities.ts'
import type { PreferenceTerms } from '../preferences/categories.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { ContentReader } from './content-reader.ts'
import { mergedPage } from './merged-page.ts'
import { allCategories, optOutSql } from './opt-outs.ts'

interface InboxFilter {
  readonly unreadOnly?: boolean | undefined
  /** Code of a category. */
  readonly category?: string | undefined
  readonly module?: string | undefined
  /** Part of the stored texts, before they are translated. */
  readonly keyword?: string | undefined
}

const maxUnread = 1_000

/** Condition for the rows of contents. Only an equation lets the database use the order of the index. */
const ofContents = ([first, ...more]: readonly number[]) => ({
  contentId: more.length === 0 ? first : { $in: [first, ...more] },
})

interface InboxReaderDependencies {
  readonly db: Database
  readonly contents: ContentReader
  readonly broadcasts: Broadcasts
  readonly terms: Pick<PreferenceTerms, 'moduleCondition'>
  readonly identity: Pick<Identity, 'rowsInScope' | 'findUserIds'>
}

/** Fields of an item or of a mark that a receipt shows. */
type Receipt = Pick<ItemRow, 'id' | 'contentId' | 'userId' | 'readAt'>

type Broadcast = NonNullable<Awaited<ReturnType<ContentReader['findBroadcast']>>>

export class InboxReader {
  readonly #parts: InboxReaderDependencies

  constructor(parts: InboxReaderDependencies) {
    this.#parts = parts
  }

  async list(
    userId: number,
    { unreadOnly, category, module, keyword = '' }: InboxFilter,
    window: PageWindow,
    locale: string,
  ) {
    const { db, broadcasts, terms } = this.#parts
    const inCategory = category === undefined ? [] : [{ module: terms.moduleCondition(category) }]
    const ofModule = module === undefined ? [] : [{ module: module.trim().toLowerCase() }]
    const modules = [...inCategory, ...ofModule]
    const where = {
      ownerId: userId,
      ...(unreadOnly === true ? { unread: true } : {}),
      ...(modules.length === 0 ? {} : { $and: modules }),
    }
    const search = { text: keyword.trim(), properties: ['subject', 'content'] }
    const of = { entity: ContentRow, by: 'contentId' }
    const found = await mergedPage(
      byIds(window),
      (part) => findPage<ItemRow>(db.fork(), ItemRow, where, part, { search: { ...search, of } }),
      (part) => broadcasts.page(userId, { unreadOnly, modules }, part, search),
    )
    const isItem = (row: object): row is ItemRow => 'contentId' in row
    const shared = found.items.filter((row) => !isItem(row)).map(({ id }) => id)
    const states = new Map((await broadcasts.read(userId, shared)).map((one) => [one.id, one]))
    const items = found.items.flatMap((row) => {
      const state = isItem(row) ? row : states.get(row.id)
      return state === undefined ? [] : [{ ...state, contentId: isItem(row) ? row.contentId : row.id }]
    })
    return { ...found, items: await this.#viewsOf(items, locale) }
  }

  /** Counts unread items up to `maxUnread`, through an index. */
  async unreadCount(userId: number): Promise<{ count: number; capped: boolean }> {
    const { db, broadcasts } = this.#parts
    const unread = { where: 'owner_id = ? and unread = ?', parameters: [userId, true], orderBy: 'id' }
    const own = await countRows(db, { table: 'notification_inbox_item', ...unread }, maxUnread)
    const most = Math.max(1, maxUnread - own.total)
    const shared = own.isCapped ? own : await broadcasts.countUnread(userId, most)
    const count = own.total + shared.total
    return { count: Math.min(count, maxUnread), capped: shared.isCapped || count > maxUnread }
  }

  /**
   * Returns when users have read messages, with the subjects in the language `locale`. Contains only users in the data
   * scope of the caller. Of a broadcast, the list of one message contains all recipients, and the list of all messages
   * those who have read or deleted it.
   */
  async receipts(principal: Principal, messageId: string | undefined, window: PageWindow, locale: string) {
    const { db, contents, identity } = this.#parts
    const contentIds = messageId === undefined ? undefined : await contents.idsOf(messageId)
    const broadcast = contentIds === undefined ? null : await contents.findBroadcast(contentIds)
    const inScope = identity.rowsInScope(principal, 'user_id')
    const where = { $and: [contentIds === undefined ? {} : ofContents(contentIds), inScope] }
    const items = (part: PageWindow) => findPage<ItemRow>(db.fork(), ItemRow, where, part)
    const marks = (part: PageWindow) => findPage<MarkRow>(db.fork(), MarkRow, inScope, part)
    const found =
      broadcast !== null
        ? await this.#broadcastReceipts(principal, broadcast, window)
        : contentIds === undefined
          ? await mergedPage<Receipt, Receipt>(window, items, marks)
          : await items(window)
    const loaded = await contents.load(found.items.map((item) => item.contentId))
    const shown = found.items.map(({ id, contentId, userId, readAt }) => ({
      id,
      messageId: loaded.get(contentId)?.messageId ?? '',
      displaySubject: contents.subjectOf(loaded.get(contentId), locale),
      userId,
      readAt: readAt?.toISOString() ?? null,
    }))
    return { ...found, items: shown }
  }

  async isInScope(principal: Principal, contentIds: readonly number[]): Promise<boolean> {
    const { db, identity, contents } = this.#parts
    const where = { $and: [ofContents(contentIds), identity.rowsInScope(principal, 'user_id')] }
    if ((await db.fork().findOne(ItemRow, where)) !== null) return true
    const broadcast = await contents.findBroadcast(contentIds)
    if (broadcast === null) return false
    const first = { orderBy: [], size: 1, offset: 0, count: 'none' } as const
    return (await identity.findUserIds(principal, recipientsOf(broadcast), first)).items.length > 0
  }

  /** A recipient has no row until it reads the broadcast, so the id of a receipt is the id of the user. */
  async #broadcastReceipts(principal: Principal, broadcast: Broadcast, window: PageWindow) {
    const { identity, broadcasts } = this.#parts
    const byUser = { ...window, orderBy: [{ property: 'id', direction: 'asc' }] } as const
    const found = await identity.findUserIds(principal, recipientsOf(broadcast), byUser)
    const userIds = found.items.map(({ id }) => id)
    const marks = await broadcasts.marks([broadcast.id], userIds)
    const readAt = new Map(marks.map((mark) => [mark.userId, mark.readAt]))
    const items = userIds.map((id): Receipt => ({ id, contentId: broadcast.id, userId: id, readAt: readAt.get(id) }))
    return { ...found, items }
  }

  async #viewsOf(
    items: readonly Pick<ItemRow, 'id' | 'contentId' | 'unread' | 'readAt'>[],
    locale: string,
  ): Promise<InboxItemView[]> {
    const { contents } = this.#parts
    const loaded = await contents.load(items.map(({ contentId }) => contentId))
    const views = items.map(async ({ id, contentId, unread, readAt }) => {
      const content = loaded.get(contentId)
      if (content === undefined) return []
      const shown = await contents.present(content, locale)
      return [{ id, unread, readAt: readAt?.toISOString() ?? null, ...shown }]
    })
    return (await Promise.all(views)).flat()
  }
}

/** Condition for the users who have a broadcast in their inbox. */
function recipientsOf({ id, userIdLimit, category }: Broadcast): object {
  if (category === null) return { id: { $lte: userIdLimit } }
  const isConcerned = `o.category in (?, '${allCategories}')`
  const sql = (alias: string) => `${alias}.id <= ? and not ${optOutSql(`${alias}.id`, '?', isConcerned)}`
  return { [raw(sql, [userIdLimit, category, id, id])]: [] }
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
