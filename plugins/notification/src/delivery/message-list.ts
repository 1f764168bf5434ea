import { type Database, findPage, type PageWindow } from '@plinth/database'
import { type MessageState, NotificationRow } from '../entities.ts'
import { refusal } from '../failures.ts'

interface MessageFilter {
  readonly state?: MessageState | undefined
  /** The rows that the caller may read: `callerRows(request, recipientOwner)`. */
  readonly rows: object
}

/** A message as the list has it. */
export type ListedMessage = Omit<NotificationRow, 'payload'>

/** The list of messages that were enqueued or sent by administrators (document 2, "Notification management"). */
export class MessageList {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  async list({ state, rows }: MessageFilter, window: PageWindow) {
    const where = { $and: [state === undefined ? {} : { state }, rows] }
    const options = { exclude: ['payload', 'idempotencyHash'] as const }
    const found = await findPage<NotificationRow>(this.#db.fork(), NotificationRow, where, window, options)
    return { ...found, items: found.items as readonly ListedMessage[] }
  }

  /** @throws BusinessError `404` `notification.message-not-found`, also for a row outside `rows` */
  async find(id: number, rows: object): Promise<ListedMessage> {
    const exclude = ['payload', 'idempotencyHash'] as const
    const row = await this.#db.fork().findOne(NotificationRow, { $and: [{ id }, rows] }, { exclude })
    if (row === null) throw refusal('message-not-found', { params: { id }, data: { id } })
    return row as ListedMessage
  }
}
