import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Database, insertMissingRows, insertRowsIfAbsent, type NewRow, newIdAfter } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Identity } from '@plinth/iam'
import { type Clock, type Logger, omitUndefined } from '@plinth/kernel'
import { Counter, type Registry } from 'prom-client'
import {
  type AddItemsResult,
  type AddOptions,
  broadcastCreated,
  type InboxMessage,
  maxUsersPerCreatedEvent,
  notificationCreated,
} from '../contract.ts'
import { AttachmentRow, ContentRow, ItemRow } from '../entities.ts'
import type { NotificationCategories } from '../preferences/categories.ts'
import type { PreferenceMatrix } from '../preferences/preference-matrix.ts'
import type { ContentReader, StoredContent } from './content-reader.ts'
import { type CheckedMessage, checkMessage, invalid } from './message-check.ts'
import { newestBroadcastId } from './opt-outs.ts'
import { replaceContent } from './replaced-content.ts'

/**
 * Why a recipient gets no item. `preference`: the user does not want the message. `muted`: the conversation is muted.
 */
type SkipReason = 'preference' | 'muted'

interface InboxMetrics {
  added(items: number): void
  skipped(reason: SkipReason, items: number): void
}

const names = { added: 'platform_notification_inbox_items_total', skipped: 'platform_notification_inbox_skipped_total' }

export function inboxMetrics(registry: Registry | undefined): InboxMetrics & { stop(): void } {
  if (registry === undefined) return { added() {}, skipped() {}, stop() {} }
  const added = new Counter({ name: names.added, help: 'Items put into inboxes', registers: [registry] })
  const skipped = new Counter({
    name: names.skipped,
    help: 'Items not put into inboxes because their recipients do not want them',
    labelNames: ['reason'],
    registers: [registry],
  })
  return {
    added: (items) => added.inc(items),
    skipped: (reason, items) => skipped.inc({ reason }, items),
    stop() {
      for (const name of Object.values(names)) registry.removeSingleMetric(name)
    },
  }
}

interface NewItem {
  readonly itemId: number
  readonly userId: number
}

/** Columns of a content that depend on its recipients. */
type Audience = Pick<NewRow<typeof ContentRow>, 'id' | 'audience' | 'userIdLimit' | 'module' | 'category'>

const someUsers = { audience: null, userIdLimit: null, module: null, category: null }

interface AddedChunk extends AddItemsResult {
  /** Content of the message. Undefined until the message has a recipient. */
  readonly content: StoredContent | undefined
}

interface ItemWriterDependencies {
  readonly db: Database
  readonly events: Events
  readonly identity: Pick<Identity, 'limitUserIds'>
  readonly preferences: Pick<PreferenceMatrix, 'wanted' | 'defaultOf' | 'usersWithCellOn'>
  readonly categories: Pick<NotificationCategories, 'of'>
  readonly contents: ContentReader
  readonly metrics: InboxMetrics
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}

/** Writes messages to inboxes. The content is stored once, and each recipient gets a small row. */
export class ItemWriter {
  readonly #parts: ItemWriterDependencies

  constructor(parts: ItemWriterDependencies) {
    this.#parts = parts
  }

  /** Implements `Inbox.add`. */
  async add(message: InboxMessage, { signal, isWanted = false, replacedAt }: AddOptions = {}): Promise<AddItemsResult> {
    const { db } = this.#parts
    const checked = { ...checkMessage(message), replacedAt }
    const { userIds } = checked
    if (checked.isMuted) return { added: 0, skipped: this.#skip(checked, 'muted', userIds) }
    if (replacedAt !== undefined) await replaceContent(this.#parts, checked, replacedAt)
    const sum = { added: 0, skipped: 0 }
    let stored: StoredContent | undefined
    for (let from = 0; from < userIds.length; from += maxUsersPerCreatedEvent) {
      if (from > 0) await nextTurn()
      signal?.throwIfAborted()
      const chunk = userIds.slice(from, from + maxUsersPerCreatedEvent)
      const work = () => this.#addChunk(checked, chunk, isWanted, stored)
      const { content, added, skipped } = await db.statements(work, signal === undefined ? {} : { signal })
      // The content is committed now, so the next chunk need not read it.
      stored = content
      sum.added += added
      sum.skipped += skipped
    }
    return sum
  }

  /** Implements `Inbox.addForAll`. The lock of users also keeps the ids of broadcasts in the order of their commits. */
  async addForAll(message: Omit<InboxMessage, 'userIds'>, { signal }: AddOptions = {}): Promise<boolean> {
    const { db, events, contents, identity, preferences, categories } = this.#parts
    const checked = checkMessage({ ...message, userIds: [] })
    signal?.throwIfAborted()
    if (checked.isMuted || (await contents.find(checked.messageId))?.isBroadcast === true) return false
    const { module } = checked.jump
    const { code } = categories.of(module)
    const { enabled, locked } = await preferences.defaultOf({ channel: 'database', category: code })
    if (!enabled) return locked ? false : this.#addForDeciders(message, code, signal)
    return db.transactional(async () => {
      const userIdLimit = await identity.limitUserIds()
      const broadcast = { audience: 'all', userIdLimit, module, category: locked ? null : code } as const
      const known = await contents.find(checked.messageId)
      const id = newIdAfter(db, await newestBroadcastId(db))
      const { contentId, content, isBroadcast } = known ?? (await this.#content(checked, { id, ...broadcast }))
      if (!isBroadcast) throw invalid('messageId', 'different from the ids of messages to some users')
      if (known === undefined) events.emit(broadcastCreated, { content, itemId: contentId, userIdLimit })
      return known === undefined
    })
  }

  /** Adds a message whose category is off by default, for the users who have switched it on. */
  async #addForDeciders(
    message: Omit<InboxMessage, 'userIds'>,
    category: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    let added = 0
    for await (const userIds of this.#parts.preferences.usersWithCellOn({ channel: 'database', category }))
      added += (await this.add({ ...message, userIds }, omitUndefined({ signal }))).added
    return added > 0
  }

  async #addChunk(
    checked: CheckedMessage,
    userIds: readonly number[],
    isWanted: boolean,
    stored: StoredContent | undefined,
  ): Promise<AddedChunk> {
    if (isWanted) return { ...(await this.#write(checked, userIds, stored)), skipped: 0 }
    const { code: category } = this.#parts.categories.of(checked.jump.module)
    const wanted = await this.#parts.preferences.wanted(userIds, { channel: 'database', category })
    const unwanted = userIds.filter((userId) => !wanted.has(userId))
    const skipped = unwanted.length === 0 ? 0 : this.#skip(checked, 'preference', unwanted)
    if (wanted.size === 0) return { content: stored, added: 0, skipped }
    return { ...(await this.#write(checked, [...wanted], stored)), skipped }
  }

  #skip({ messageId, jump }: CheckedMessage, reason: SkipReason, userIds: readonly number[]): number {
    const { db, log, metrics, categories } = this.#parts
    const [category, count] = [categories.of(jump.module).code, userIds.length]
    db.afterCommit(() => {
      metrics.skipped(reason, count)
      log.debug(
        { messageId, reason, category, count, userIds: userIds.slice(0, 10) },
        'a message was not stored in some inboxes',
      )
    })
    return count
  }

  /**
   * Writes the items of a chunk. @param stored the content, if it is already committed @returns the number of new items
   */
  async #write(
    checked: CheckedMessage,
    userIds: readonly number[],
    stored: StoredContent | undefined,
  ): Promise<Pick<AddedChunk, 'content' | 'added'>> {
    const { db, events, metrics, contents } = this.#parts
    const shared =
      stored ??
      (await contents.find(checked.messageId)) ??
      (await this.#content(checked, { id: db.newId(), ...someUsers }))
    const { contentId, content, isBroadcast } = shared
    if (isBroadcast) throw invalid('messageId', 'different from the ids of messages to all users')
    const { module } = content
    const rows = userIds.map((userId) => ({ id: db.newId(), contentId, userId, ownerId: userId, module, unread: true }))
    const added = await insertRowsIfAbsent(db, ItemRow, ['contentId', 'userId'], rows)
    const items = rows.map(({ id: itemId, userId }) => ({ itemId, userId }))
    const written = added === rows.length ? items : await this.#written(items, contentId)
    if (written.length === 0) return { content: shared, added: 0 }
    db.afterCommit(() => metrics.added(written.length))
    events.emit(notificationCreated, {
      content,
      userIds: written.map(({ userId }) => userId),
      itemIds: written.map(({ itemId }) => itemId),
    })
    return { content: shared, added: written.length }
  }

  /**
   * Returns the rows that this call has inserted. The ids of a process increase, so the new rows are in one range of
   * ids.
   */
  async #written(rows: NewItem[], contentId: number): Promise<NewItem[]> {
    const { db } = this.#parts
    const own = [rows[0]?.itemId ?? 0, rows.at(-1)?.itemId ?? 0, contentId]
    // `+ 0` keeps SQLite from scanning all items of the content through the index on `content_id`.
    const where = 'id between ? and ? and content_id + 0 = ?'
    const found = await db.query<{ id: unknown }>(`select id from notification_inbox_item where ${where}`, own)
    const ids = new Set(found.map(({ id }) => Number(id)))
    return rows.filter(({ itemId }) => ids.has(itemId))
  }

  /** Stores the content of a message. If another call was faster, returns the content that it has stored. */
  async #content(checked: CheckedMessage, audience: Audience): Promise<StoredContent> {
    const { db, clock, contents } = this.#parts
    const { messageId, subject, content, variables, jump } = checked
    const createdAt = new Date(checked.replacedAt ?? clock.now())
    const row = { messageId, subject, content, variables, jump, attachments: checked.attachments.length }
    await insertMissingRows(db, ContentRow, 'messageId', [{ ...row, ...audience, createdAt }])
    const stored = await contents.find(messageId)
    if (stored === undefined) throw new Error('The content of a message is gone while it was written')
    const contentId = audience.id
    if (stored.contentId !== contentId) return stored
    const none = { disk: null, path: null, url: null }
    const attachments = checked.attachments.map((attachment) => ({ ...none, ...attachment, messageId }))
    const rows = attachments.map((attachment) => ({ ...attachment, id: db.newId(), contentId }))
    await insertMissingRows(db, AttachmentRow, 'id', rows)
    return { ...stored, content: { ...stored.content, attachments } }
  }
}
