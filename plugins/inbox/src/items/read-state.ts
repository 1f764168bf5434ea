import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import { bulkResultOf } from '@plinth/http'
import type { Clock } from '@plinth/kernel'
import { type InboxContent, notificationRead } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { ItemRow } from '../entities.ts'
import type { ContentReader } from './content-reader.ts'

const step = 500

interface ReadStateDependencies {
  readonly db: Database
  readonly events: Events
  readonly contents: ContentReader
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
    const { db, clock } = this.#parts
    const readAt = new Date(clock.now())
    return db.transactional(async (em) => {
      const items = await em.find(ItemRow, { id: { $in: [...ids] }, ownerId: userId, unread: true })
      const own = { id: { $in: items.map(({ id }) => id) }, ownerId: userId, unread: true }
      const changed = items.length === 0 ? 0 : await em.nativeUpdate(ItemRow, own, { unread: false, readAt })
      if (changed > 0) await this.#announce(userId, items, readAt)
      return changed
    })
  }

  /** Marks an item as unread. @throws the errors of `read` */
  async unread(userId: number, id: number): Promise<number> {
    await this.#require(userId, id)
    return this.unreadMany(userId, [id])
  }

  async unreadMany(userId: number, ids: readonly number[]): Promise<number> {
    const own = { id: { $in: [...ids] }, ownerId: userId, unread: false }
    return this.#parts.db.fork().nativeUpdate(ItemRow, own, { unread: true, readAt: null })
  }

  /**
   * Marks all items as read in small steps. If the call is interrupted, the next call continues.
   *
   * @param newestId newer items stay unread
   */
  async readAll(userId: number, newestId?: number): Promise<number> {
    const { db, clock, events } = this.#parts
    const readAt = new Date(clock.now())
    const end = Math.min(db.newId(), newestId === undefined ? Number.MAX_SAFE_INTEGER : newestId + 1)
    let changed = 0
    for (;;) {
      const items = await db.query<{ id: unknown }>(
        `select id from notification_inbox_item where owner_id = ? and unread = ? and id < ? order by id limit ${step}`,
        [userId, true, end],
      )
      const ids = items.map(({ id }) => Number(id))
      const own = { id: { $in: ids }, ownerId: userId, unread: true }
      if (newestId !== undefined) changed += await this.readMany(userId, ids)
      else if (ids.length > 0) changed += await db.fork().nativeUpdate(ItemRow, own, { unread: false, readAt })
      if (ids.length < step) break
    }
    // Without `newestId`, one event tells that all items were read. With it, each step has already emitted its own
    // event.
    const isAll = changed > 0 && newestId === undefined
    if (isAll) events.emit(notificationRead, { userId, readAt: readAt.toISOString(), all: true, items: [] })
    return changed
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
    const own = { id: { $in: [...ids] }, ownerId: userId }
    return this.#parts.db.fork().nativeUpdate(ItemRow, own, { ownerId: null })
  }

  /** Changes several items of a user, and returns the response with the outcome of each. */
  async each(userId: number, ids: readonly number[], change: 'read' | 'unread' | 'remove') {
    const own = { id: { $in: [...ids] }, ownerId: userId }
    const items = await this.#parts.db.fork().find(ItemRow, own, { fields: ['id', 'unread'] })
    const wasUnread = new Map(items.map(({ id, unread }) => [id, unread]))
    const changes = { read: this.readMany, unread: this.unreadMany, remove: this.removeMany }
    await changes[change].call(this, userId, [...wasUnread.keys()])
    return bulkResultOf(ids, (id) => {
      if (!wasUnread.has(id)) return 'unknown'
      return change !== 'remove' && wasUnread.get(id) === (change === 'unread') ? 'unchanged' : 'done'
    })
  }

  async #require(userId: number, id: number): Promise<void> {
    if ((await this.#parts.db.fork().count(ItemRow, { id, ownerId: userId })) === 0) {
      throw businessError('item-unknown', { params: { id } })
    }
  }

  async #announce(userId: number, items: readonly ItemRow[], at: Date): Promise<void> {
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
