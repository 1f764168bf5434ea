import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import { bulkResultOf } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import { type InboxContent, notificationRead } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ItemRow } from '../entities.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { ContentReader } from './content-reader.ts'
import { newestBroadcastId } from './opt-outs.ts'

const step = 500
/** Maximum number of items in one event. */
const maxAnnounced = 200

interface ReadStateDependencies {
  readonly db: Database
  readonly events: Events
  readonly contents: ContentReader
  readonly broadcasts: Broadcasts
  readonly clock: Pick<Clock, 'now'>
}

/** Marks items as read, and removes them. Items of other users are treated as unknown. */
export class ReadState {
  readonly #parts: ReadStateDependencies

  constructor(parts: ReadStateDependencies) {
    this.#parts = parts
  }

  /**
   * Marks an item as read. A repeated call has no effect.
   *
   * @returns the number of changed items
   * @throws BusinessError "404" `notification-inbox.item-unknown`
   */
  async read(userId: number, id: number): Promise<number> {
    await this.#require(userId, id)
    return this.readMany(userId, [id])
  }

  /** Marks several items as read. Ignores ids of items that are unknown or belong to other users. */
  async readMany(userId: number, ids: readonly number[]): Promise<number> {
    const readAt = new Date(this.#parts.clock.now())
    return this.#parts.db.transactional(async () => {
      const { changed, read } = await this.#markRead(userId, ids, readAt)
      if (changed > 0) await this.#announce(userId, read, readAt)
      return changed
    })
  }

  async #markRead(userId: number, ids: readonly number[], readAt: Date) {
    const { db, broadcasts } = this.#parts
    const em = db.fork()
    const items = await em.find(ItemRow, { id: { $in: [...ids] }, ownerId: userId, unread: true })
    const own = { id: { $in: items.map(({ id }) => id) }, ownerId: userId, unread: true }
    const changed = items.length === 0 ? 0 : await em.nativeUpdate(ItemRow, own, { unread: false, readAt })
    const shared = (await broadcasts.find(userId, ids, true)).map(({ id }) => ({ id, contentId: id }))
    const marked = await broadcasts.markRead(
      userId,
      shared.map(({ id }) => id),
      readAt,
    )
    return { changed: changed + marked, read: [...items, ...shared] }
  }

  /** Marks an item as unread. @throws the errors of `read` */
  async unread(userId: number, id: number): Promise<number> {
    await this.#require(userId, id)
    return this.unreadMany(userId, [id])
  }

  async unreadMany(userId: number, ids: readonly number[]): Promise<number> {
    const { db, broadcasts } = this.#parts
    const own = { id: { $in: [...ids] }, ownerId: userId, unread: false }
    return db.transactional(async (em) => {
      const changed = await em.nativeUpdate(ItemRow, own, { unread: true, readAt: null })
      return changed + (await broadcasts.markUnread(userId, ids))
    })
  }

  /**
   * Marks all items as read in small steps. If the call is interrupted, the next call continues.
   *
   * @param newestId newer items stay unread
   */
  async readAll(userId: number, newestId?: number): Promise<number> {
    const { db, clock, events } = this.#parts
    const readAt = new Date(clock.now())
    // The id of a broadcast may be ahead of the clock of this instance.
    const now = Math.max(db.newId(), (await newestBroadcastId(db)) + 1)
    const end = Math.min(now, newestId === undefined ? Number.MAX_SAFE_INTEGER : newestId + 1)
    const size = newestId === undefined ? step : maxAnnounced
    let changed = 0
    for (;;) {
      const ids = await this.#unreadIds(userId, end, size)
      if (newestId !== undefined) changed += await this.readMany(userId, ids)
      else if (ids.length > 0) changed += (await this.#markRead(userId, ids, readAt)).changed
      if (ids.length < size) break
    }
    // Without `newestId`, one event tells that all items were read. With it, each step has already emitted its own
    // event.
    const isAll = changed > 0 && newestId === undefined
    if (isAll) events.emit(notificationRead, { userId, readAt: readAt.toISOString(), all: true, items: [] })
    return changed
  }

  async #unreadIds(userId: number, end: number, limit: number): Promise<readonly number[]> {
    const items = await this.#parts.db.query<{ id: unknown }>(
      'select id from notification_inbox_item where owner_id = ? and unread = ? and id < ? order by id limit ?',
      [userId, true, end, limit],
    )
    const ids = items.map(({ id }) => Number(id))
    if (ids.length === limit) return ids
    return [...ids, ...(await this.#parts.broadcasts.unreadIds(userId, end, limit - ids.length))]
  }

  /** Removes an item. @throws the errors of `read` */
  async remove(userId: number, id: number): Promise<number> {
    const removed = await this.removeMany(userId, [id])
    if (removed === 0) throw businessError('item-unknown', { params: { id } })
    return removed
  }

  /**
   * Removes items from the inbox. Their rows remain until the purge, as read receipts, and so that the message is not
   * added again.
   */
  async removeMany(userId: number, ids: readonly number[]): Promise<number> {
    const { db, broadcasts, clock } = this.#parts
    const own = { id: { $in: [...ids] }, ownerId: userId }
    return db.transactional(async (em) => {
      const removed = await em.nativeUpdate(ItemRow, own, { ownerId: null })
      return removed + (await broadcasts.remove(userId, ids, new Date(clock.now())))
    })
  }

  /** Changes several items of a user, and returns the response with the outcome of each. */
  async each(userId: number, ids: readonly number[], change: 'read' | 'unread' | 'remove') {
    const { db, broadcasts } = this.#parts
    const own = { id: { $in: [...ids] }, ownerId: userId }
    const items = await db.fork().find(ItemRow, own, { fields: ['id', 'unread'] })
    const shared = await broadcasts.find(userId, ids)
    const wasUnread = new Map([...items, ...shared].map(({ id, unread }) => [id, unread]))
    const changes = { read: this.readMany, unread: this.unreadMany, remove: this.removeMany }
    await changes[change].call(this, userId, [...wasUnread.keys()])
    return bulkResultOf(ids, (id) => {
      if (!wasUnread.has(id)) return 'unknown'
      return change !== 'remove' && wasUnread.get(id) === (change === 'unread') ? 'unchanged' : 'done'
    })
  }

  async #require(userId: number, id: number): Promise<void> {
    const { db, broadcasts } = this.#parts
    if ((await db.fork().count(ItemRow, { id, ownerId: userId })) > 0) return
    if ((await broadcasts.find(userId, [id])).length > 0) return
    throw businessError('item-unknown', { params: { id } })
  }

  async #announce(userId: number, items: readonly Pick<ItemRow, 'id' | 'contentId'>[], at: Date): Promise<void> {
    const { events, contents } = this.#parts
    const loaded = await contents.load(items.map(({ contentId }) => contentId))
    const readAt = at.toISOString()
    const read = items.flatMap(({ id, contentId }) => {
      const content = loaded.get(contentId)
      return content === undefined ? [] : [{ id, ...jumpOf(content), unread: false as const, readAt }]
    })
    events.emit(notificationRead, { userId, readAt, all: false, items: read })
  }
}

/** Returns the item of an event. Texts are left out, because the receiver of the event already has them. */
function jumpOf({
  subject: _,
  content: __,
  variables: ___,
  attachments: ____,
  createdAt: _____,
  ...jump
}: InboxContent) {
  return jump
}
