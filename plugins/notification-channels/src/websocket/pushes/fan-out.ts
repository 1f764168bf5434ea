import { randomUUID } from 'node:crypto'
import type { Events } from '@plinth/events'
import { broadcastCreated, categories, notificationCreated, notificationRead } from '@plinth/inbox'
import { errorReason, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import type { ClientSocket } from '../connections/socket-table.ts'
import type { Deliverer, Push } from './deliverer.ts'

/** Returns the category of a module, also if a plugin has declared it. */
export type CategoryOf = (module: string) => string

/** Sends changes of inboxes as events to clients on all instances. */
export function followInboxes(events: Events, fanOut: FanOut, enabled: () => boolean, categoryOf: CategoryOf): void {
  events.on(notificationCreated, 'notification-channels.websocket.created', async ({ payload }) => {
    if (!enabled()) return
    const { content, userIds, itemIds } = payload
    const categories = [categoryOf(content.module)]
    const event = 'notification.created'
    await fanOut.sendQuietly({ event, targets: { userIds }, categories, content, itemIds })
  })
  events.on(broadcastCreated, 'notification-channels.websocket.broadcast-created', async ({ payload }) => {
    if (!enabled()) return
    const { content, itemId, userIdLimit } = payload
    const facts = { targets: { usersUpTo: userIdLimit }, categories: [categoryOf(content.module)] }
    await fanOut.sendQuietly({ event: 'notification.created', ...facts, content, itemIds: [itemId] })
  })
  events.on(notificationRead, 'notification-channels.websocket.read', async ({ payload }) => {
    if (!enabled()) return
    const { userId, readAt, all, items } = payload
    await fanOut.sendQuietly({
      event: 'notification.read',
      targets: { userIds: [userId] },
      // If all items were read, the push concerns every category.
      categories: all ? categories : [...new Set(items.map(({ module }) => categoryOf(module)))],
      data: all ? [{ all: true, readAt }] : items,
    })
  })
}

const channel = 'notification.websocket'
/**
 * Maximum length of a message between instances. It is enough for 65,536 characters of content with 1,000 recipients.
 */
const largestMessage = 1_048_576

interface FanOutDependencies {
  readonly store: Pick<SharedStore, 'publish' | 'subscribe'> | undefined
  readonly deliverer: Deliverer
  readonly sockets: () => readonly ClientSocket[]
  readonly log: Logger
}

interface Travelling {
  readonly from: string
  readonly push: Push
}

/** Sends each push to the other instances, as one message for all of them. */
export class FanOut {
  readonly #parts: FanOutDependencies
  readonly #id = randomUUID()
  #listening: Promise<() => Promise<void>> | undefined
  #couldPublish = true

  constructor(parts: FanOutDependencies) {
    this.#parts = parts
  }

  /**
   * Starts to receive pushes of other instances. Called at the first connection, because this instance has no
   * recipients before.
   */
  async listen(): Promise<void> {
    const { store, log } = this.#parts
    if (store === undefined) return
    this.#listening ??= store.subscribe(
      channel,
      (text) => this.#hear(text),
      () => this.#sayGap(),
    )
    try {
      await this.#listening
    } catch (error) {
      // The next connection tries to subscribe again. Until then, clients of this instance get only pushes of this
      // instance.
      this.#listening = undefined
      log.warn({ reason: errorReason(error) }, 'pushes of other instances cannot be received')
    }
  }

  /** Sends a push to the other instances. @throws errors of the shared store */
  async publish(push: Push): Promise<void> {
    const message = JSON.stringify({ from: this.#id, push } satisfies Travelling)
    if (message.length > largestMessage) throw new RangeError(`A push of ${message.length} characters is too large`)
    await this.#parts.store?.publish(channel, message)
  }

  /**
   * Sends a push to clients of all instances. Errors are logged. If the other instances cannot be reached, this is
   * logged only once until they can be reached again.
   */
  async sendQuietly(push: Push): Promise<void> {
    const { deliverer, log } = this.#parts
    await deliverer.deliverQuietly(push)
    try {
      await this.publish(push)
      this.#couldPublish = true
    } catch (error) {
      if (this.#couldPublish) log.warn({ reason: errorReason(error) }, 'pushes do not reach other instances')
      this.#couldPublish = false
    }
  }

  async stop(): Promise<void> {
    const leave = await this.#listening?.catch(() => undefined)
    await leave?.().catch(() => undefined)
  }

  #hear(text: string): void {
    const { from, push }: Travelling = JSON.parse(text)
    if (from !== this.#id) void this.#parts.deliverer.deliverQuietly(push)
  }

  /** Tells clients that events may be missing, so that they read the inbox again. */
  #sayGap(): void {
    const text = JSON.stringify({ type: 'gap' })
    for (const socket of this.#parts.sockets()) socket.send(text)
  }
}
