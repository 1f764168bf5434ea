import { type Database, findPage, type PageWindow } from '@plinth/database'
import { type MessageState, NotificationRow } from '../entities.ts'

export interface MessageFilter {
  readonly state?: MessageState | undefined
}

/** A message as the list has it. */
export type ListedMessage = Omit<NotificationRow, 'payload'>

/** The list of messages that were enqueued or sent by administrators (document 2, "Notification management"). */
export class MessageList {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async list({ state }: MessageFilter, window: PageWindow) {
    const where = state === undefined ? {} : { state }
    const options = { exclude: ['payload', 'idempotencyHash'] as const }
    const found = await findPage<NotificationRow>(this.#db.fork(), NotificationRow, where, window, options)
    return { ...found, items: found.items as readonly ListedMessage[] }
  }
}
