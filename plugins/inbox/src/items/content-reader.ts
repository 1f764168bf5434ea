import { type Database, findPage, type PageWindow } from '@plinth/database'
import type { Translator } from '@plinth/i18n'
import { errorReason, type Logger } from '@plinth/kernel'
import type { Storage } from '@plinth/storage'
import type { AttachmentView, InboxContent, InboxContentView } from '../contract.ts'
import { AttachmentRow, ContentRow } from '../entities.ts'
import { jumpTargetOf } from './jump-target.ts'

export interface StoredContent {
  readonly contentId: number
  readonly content: InboxContent
  /** True for a message to all users. */
  readonly isBroadcast: boolean
}

interface ContentReaderDependencies {
  readonly db: Database
  readonly translator: Pick<Translator, 'resolve'> | undefined
  readonly storage: Pick<Storage, 'resolveUrl'> | undefined
  readonly log: Logger
}

const maxContents = 1_000
/** The part of a content id after the message id. It is empty, or the id of a group of readers. */
const ownPattern = /^(?:(?:\/[0-9a-f]{8})?\/[0-9a-f]{32})?$/

/** Jump target without values, for rows that are older than one of its fields. */
const noJump = jumpTargetOf({})

export class ContentReader {
  readonly #parts: ContentReaderDependencies

  constructor(parts: ContentReaderDependencies) {
    this.#parts = parts
  }

  async find(messageId: string): Promise<StoredContent | undefined> {
    const row = await this.#parts.db.fork().findOne(ContentRow, { messageId })
    const content = row === null ? undefined : (await this.#contentsOf([row])).get(row.id)
    return row === null || content === undefined
      ? undefined
      : { contentId: row.id, content, isBroadcast: row.audience === 'all' }
  }

  /**
   * Returns the ids of the contents of a message, which has one for each group of its readers. Unknown messages give 0,
   * which is never an id, so that a query with it finds nothing.
   */
  async idsOf(messageId: string): Promise<readonly number[]> {
    // All hexadecimal digits are in this range, whatever the collation is.
    const ofGroups = { $gte: `${messageId}/0`, $lte: `${messageId}/g` }
    const where = { $or: [{ messageId }, { messageId: ofGroups }] }
    const rows = await this.#parts.db
      .fork()
      .find(ContentRow, where, { fields: ['id', 'messageId'], limit: maxContents })
    const own = rows.filter((row) => ownPattern.test(row.messageId.slice(messageId.length)))
    return own.length === 0 ? [0] : own.map(({ id }) => id)
  }

  /** Returns the broadcast among the contents of a message. */
  findBroadcast(contentIds: readonly number[]): Promise<Pick<ContentRow, 'id' | 'userIdLimit' | 'category'> | null> {
    const where = { id: { $in: [...contentIds] }, audience: 'all' as const }
    return this.#parts.db.fork().findOne(ContentRow, where, { fields: ['id', 'userIdLimit', 'category'] })
  }

  /** Reads contents by id. Deleted contents are missing in the result. */
  async load(contentIds: readonly number[]): Promise<ReadonlyMap<number, InboxContent>> {
    const ids = [...new Set(contentIds)]
    return this.#contentsOf(await this.#parts.db.fork().find(ContentRow, { id: { $in: ids } }))
  }

  async attachments(where: object, window: PageWindow) {
    const found = await findPage<AttachmentRow>(this.#parts.db.fork(), AttachmentRow, where, window)
    const items = found.items.map((row) => ({ id: row.id, ...attachmentOf(row) }))
    return { ...found, items: await this.#resolved(items) }
  }

  /** Implements `Inbox.present`. */
  async present({ variables, ...content }: InboxContent, locale: string): Promise<InboxContentView> {
    return {
      ...content,
      displaySubject: this.#shown(content.subject, variables, locale),
      displayContent: this.#shown(content.content, variables, locale),
      attachments: await this.#resolved(content.attachments),
    }
  }

  /** Returns the subject in the language `locale`. Empty for a deleted content. */
  subjectOf(content: InboxContent | undefined, locale: string): string {
    return content === undefined ? '' : this.#shown(content.subject, content.variables, locale)
  }

  #shown(text: string, variables: InboxContent['variables'], locale: string): string {
    return this.#parts.translator?.resolve(locale, text, variables) ?? text
  }

  async #contentsOf(rows: readonly ContentRow[]): Promise<ReadonlyMap<number, InboxContent>> {
    const carrying = rows.filter(({ attachments }) => attachments > 0).map(({ id }) => id)
    const attached =
      carrying.length === 0
        ? []
        : await this.#parts.db.fork().find(AttachmentRow, { contentId: { $in: carrying } }, { orderBy: { id: 'asc' } })
    return new Map(
      rows.map(({ id, messageId, subject, content, variables, jump, createdAt }) => [
        id,
        {
          messageId,
          subject,
          content,
          variables,
          ...noJump,
          ...jump,
          attachments: attached.filter(({ contentId }) => contentId === id).map(attachmentOf),
          createdAt: createdAt.toISOString(),
        },
      ]),
    )
  }

  #resolved<T extends AttachmentView>(attachments: readonly T[]): Promise<T[]> {
    return Promise.all(attachments.map(async (one) => ({ ...one, url: await this.#urlOf(one) })))
  }

  /**
   * Returns the URL of a file by the current configuration of its disk. If that is not possible, returns the `url` of
   * the sender.
   */
  async #urlOf({ disk, path, url, messageId }: AttachmentView): Promise<string | null> {
    const { storage, log } = this.#parts
    if (storage === undefined || disk === null || path === null) return url
    try {
      return await storage.resolveUrl(disk, path)
    } catch (error) {
      log.debug({ messageId, disk, reason: errorReason(error) }, 'the URL of an attachment cannot be determined')
      return url
    }
  }
}

function attachmentOf(row: AttachmentRow): AttachmentView {
  const { messageId, disk = null, path = null, name, contentType, size, url = null } = row
  return { messageId, disk, path, name, contentType, size, url }
}
