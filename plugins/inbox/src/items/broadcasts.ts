import { raw } from '@mikro-orm/core'
import {
  countRows,
  type Database,
  expiryClock,
  findPage,
  firstIdAt,
  insertRowsIfAbsent,
  type PageWindow,
  type RowCount,
  type TextSearch,
} from '@plinth/database'
import { ContentRow, MarkRow } from '../entities.ts'
import { allCategories, optOutSql } from './opt-outs.ts'

/** A broadcast as one reader sees it. Its id is the id of its content. */
interface ReadBroadcast {
  readonly id: number
  readonly unread: boolean
  readonly readAt: Date | null
}

interface BroadcastFilter {
  readonly unreadOnly?: boolean | undefined
  /** Conditions on the column `module`. */
  readonly modules: readonly object[]
}

interface BroadcastDependencies {
  readonly db: Database
  /** Milliseconds after which a read broadcast disappears; 0: never. */
  readonly retentionMs: () => number
}

const table = 'notification_inbox_content'

/** Condition on an opt-out. A broadcast without a category reaches everybody. */
const isConcerned = (alias: string) =>
  `(o.category = ${alias}.category or o.category = '${allCategories}' and ${alias}.category is not null)`

/**
 * Condition of the broadcasts that a user sees. Parameters: the id of the user three times, and an id. Broadcasts with a
 * smaller id of the mark have disappeared.
 */
const seenSql = (alias: string) =>
  `${alias}.audience = 'all' and ${alias}.user_id_limit >= ?
   and not ${optOutSql('?', `${alias}.id`, isConcerned(alias))}
   and not exists (select 1 from notification_inbox_mark m where m.content_id = ${alias}.id and m.user_id = ?
     and (m.removed_at is not null or m.id < ?))`

const textColumns = ['subject', 'content', 'variables', 'jump'] as const

/**
 * Messages to all users. The content is the only row of a broadcast. A user who has read or deleted it has a mark. The
 * functions treat broadcasts that the user does not see like unknown ones.
 */
export class Broadcasts {
  readonly #parts: BroadcastDependencies

  constructor(parts: BroadcastDependencies) {
    this.#parts = parts
  }

  /** Returns a page, newest first. */
  page(userId: number, { unreadOnly, modules }: BroadcastFilter, window: PageWindow, search: TextSearch) {
    const where = { $and: [this.#seenBy(userId, unreadOnly), ...modules] }
    return findPage<ContentRow>(this.#parts.db.fork(), ContentRow, where, window, { search, exclude: textColumns })
  }

  /** Counts unread broadcasts up to `most`. */
  countUnread(userId: number, most: number): Promise<RowCount> {
    const parameters = this.#seenParameters(userId, true)
    return countRows(this.#parts.db, { table, where: seenSql(table), parameters, orderBy: 'audience, id' }, most)
  }

  /** Returns the ids of unread broadcasts, the oldest first. */
  async unreadIds(userId: number, endId: number, limit: number): Promise<readonly number[]> {
    const rows = await this.#parts.db.query<{ id: unknown }>(
      `select id from ${table} where ${seenSql(table)} and id < ? order by audience, id limit ?`,
      [...this.#seenParameters(userId, true), endId, limit],
    )
    return rows.map(({ id }) => Number(id))
  }

  /** Returns those of the broadcasts that the user sees. */
  async find(userId: number, ids: readonly number[], unreadOnly = false): Promise<readonly ReadBroadcast[]> {
    const where = { $and: [{ id: { $in: [...ids] } }, this.#seenBy(userId, unreadOnly)] }
    const found = await this.#parts.db.fork().find(ContentRow, where, { fields: ['id'] })
    return this.read(
      userId,
      found.map(({ id }) => id),
    )
  }

  /** Adds the marks of a user to broadcasts that the user sees. */
  async read(userId: number, ids: readonly number[]): Promise<readonly ReadBroadcast[]> {
    const marks = ids.length === 0 ? [] : await this.marks(ids, [userId])
    const markOf = new Map(marks.map((mark) => [mark.contentId, mark]))
    return ids.map((id) => ({ id, unread: !markOf.has(id), readAt: markOf.get(id)?.readAt ?? null }))
  }

  marks(ids: readonly number[], userIds: readonly number[]): Promise<readonly MarkRow[]> {
    const where = { contentId: { $in: [...ids] }, userId: { $in: [...userIds] } }
    return this.#parts.db.fork().find(MarkRow, where)
  }

  /** Marks unread broadcasts as read. Returns their number. */
  markRead(userId: number, ids: readonly number[], readAt: Date): Promise<number> {
    return this.#insertMarks(userId, ids, { readAt, removedAt: null })
  }

  /** Marks read broadcasts as unread. Returns the number of changed ones. */
  async markUnread(userId: number, ids: readonly number[]): Promise<number> {
    const found = await this.find(userId, ids)
    return this.#parts.db.fork().nativeDelete(MarkRow, { ...marksOf(userId, found), removedAt: null })
  }

  /** Removes broadcasts from the inbox of the user. Returns their number. */
  async remove(userId: number, ids: readonly number[], removedAt: Date): Promise<number> {
    const found = await this.find(userId, ids)
    const where = { ...marksOf(userId, found), removedAt: null }
    const changed = found.length === 0 ? 0 : await this.#parts.db.fork().nativeUpdate(MarkRow, where, { removedAt })
    const idsOfFound = found.map(({ id }) => id)
    return changed + (await this.#insertMarks(userId, idsOfFound, { readAt: null, removedAt }))
  }

  async #insertMarks(userId: number, ids: readonly number[], mark: Pick<MarkRow, 'readAt' | 'removedAt'>) {
    const { db } = this.#parts
    const { readAt = null, removedAt = null } = mark
    const rows = ids.map((contentId) => ({ id: db.newId(), contentId, userId, readAt, removedAt }))
    return rows.length === 0 ? 0 : insertRowsIfAbsent(db, MarkRow, ['contentId', 'userId'], rows)
  }

  #seenBy(userId: number, unreadOnly?: boolean): object {
    return { [raw(seenSql, this.#seenParameters(userId, unreadOnly))]: [] }
  }

  /** If only unread broadcasts count, each mark hides its broadcast. */
  #seenParameters(userId: number, unreadOnly = false): number[] {
    const { db, retentionMs } = this.#parts
    const retention = retentionMs()
    const markedBefore = retention === 0 ? 0 : firstIdAt(expiryClock(db.clock).now() - retention)
    return [userId, userId, userId, unreadOnly ? Number.MAX_SAFE_INTEGER : markedBefore]
  }
}

const marksOf = (userId: number, found: readonly ReadBroadcast[]) => ({
  userId,
  contentId: { $in: found.map(({ id }) => id) },
})
