import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Category, Inbox, InboxContent, NotificationPreferences } from '@plinth/inbox'
import { type Clock, type Logger, reasonOf, withinDeadline } from '@plinth/kernel'
import type { ClientSocket, SocketTable, Targets } from '../connections/socket-table.ts'
import type { SocketMetrics } from '../metrics.ts'

interface PushFacts {
  readonly targets: Targets
  /** A user who wants none of these categories gets nothing. */
  readonly categories: readonly Category[]
}

/** A new notification; each client sees it in its language. */
export interface CreatedPush extends PushFacts {
  readonly event: 'notification.created'
  readonly content: InboxContent
  /** Items of inboxes, each beside its user among the targets; none for what was sent to this channel alone. */
  readonly itemIds: readonly number[]
}

/** Items were read on another device: the data of one event each. */
interface ReadPush extends PushFacts {
  readonly event: 'notification.read'
  readonly data: readonly object[]
}

/** What goes to clients, as it travels between instances: JSON. */
export type Push = CreatedPush | ReadPush

/** Connections that are written to in one turn of the event loop. */
const step = 500
/** Milliseconds that a push has, from its arrival to the first connection. */
const deadlineMs = 5_000
/** Pushes that may wait for earlier ones. */
const mostWaiting = 1_000

interface DelivererParts {
  readonly table: SocketTable
  readonly enabled: () => boolean
  readonly present: Inbox['present']
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
  readonly metrics: SocketMetrics
  readonly clock: Clock
  readonly log: Logger
}

interface DeliveryWatch {
  /** Gives up what has not begun. */
  readonly signal?: AbortSignal
  /** Called before the first connection is written to. */
  onBegin?(): void
}

/**
 * Writes pushes to the connections of this instance, one after another in the order in which they came. Users who do not want
 * them are left out, whatever way leads to their connections (document 2, "Preferences"); when their preferences cannot be
 * read, nobody gets anything.
 */
export class Deliverer {
  readonly #parts: DelivererParts
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: DelivererParts) {
    this.#parts = parts
  }

  /** Answers the number of connections. Throws when it was given up, or preferences could not be read. */
  async deliver(push: Push, { signal, onBegin = () => {} }: DeliveryWatch = {}): Promise<number> {
    const { table, enabled, metrics, clock } = this.#parts
    if (!enabled() || table.of(push.targets).size === 0) return 0
    if (this.#waiting >= mostWaiting) {
      metrics.dropped()
      throw new Error('Too many pushes wait')
    }
    this.#waiting += 1
    const before = this.#last
    const work = async (given: AbortSignal) => {
      await before
      given.throwIfAborted()
      return this.#write(push, given, onBegin)
    }
    const late = () => new Error(`Not pushed within ${deadlineMs} ms`)
    const done = withinDeadline(clock, deadlineMs, work, late, signal).finally(() => {
      this.#waiting -= 1
    })
    this.#last = done.catch(() => undefined)
    return done
  }

  /** For what has no caller: a failure is a line of the log. */
  async deliverQuietly(push: Push): Promise<number> {
    try {
      return await this.deliver(push)
    } catch (error) {
      this.#parts.log.warn({ event: push.event, reason: reasonOf(error) }, 'not pushed to connections')
      return 0
    }
  }

  async #write(push: Push, given: AbortSignal, onBegin: () => void): Promise<number> {
    const { table, metrics } = this.#parts
    const sockets = await this.#wanting(push, [...table.of(push.targets)])
    const textsFor = push.event === 'notification.read' ? readTexts(push.data) : await this.#createdTexts(push, sockets)
    given.throwIfAborted()
    onBegin()
    let handed = 0
    for (const [index, socket] of sockets.entries()) {
      if (index > 0 && index % step === 0) await nextTurn()
      const isTaken = textsFor(socket).map((text) => socket.send(text))
      if (isTaken.includes(true)) handed += 1
    }
    metrics.handed(handed)
    return handed
  }

  async #wanting(push: Push, sockets: readonly ClientSocket[]): Promise<readonly ClientSocket[]> {
    const { preferences } = this.#parts
    const userIds = [...new Set(sockets.flatMap(({ caller }) => caller.userId ?? []))]
    if (preferences === undefined || userIds.length === 0) return sockets
    const wanted = new Set<number>()
    for (const category of push.categories) {
      for (const userId of await preferences.wanted(userIds, { channel: 'websocket', category })) wanted.add(userId)
    }
    return sockets.filter(({ caller }) => caller.userId === undefined || wanted.has(caller.userId))
  }

  /** One text per language, with the id of the item set in. */
  async #createdTexts({ content, targets, itemIds }: CreatedPush, sockets: readonly ClientSocket[]) {
    const locales = new Set(sockets.map(({ caller }) => caller.locale))
    const views = new Map<string, string>()
    for (const locale of locales) views.set(locale, JSON.stringify(await this.#parts.present(content, locale)).slice(1))
    const { userIds = [] } = targets
    const itemOf = new Map(itemIds.map((itemId, index) => [userIds[index], itemId]))
    const text = (id: number | null, locale: string) =>
      `{"event":"notification.created","data":{"id":${id},"unread":true,"readAt":null,${views.get(locale)}}`
    const shared = new Map([...locales].map((locale) => [locale, Buffer.from(text(null, locale))]))
    return ({ caller: { userId, locale } }: ClientSocket): readonly (string | Buffer)[] => {
      const id = userId === undefined ? undefined : itemOf.get(userId)
      return [id === undefined ? (shared.get(locale) ?? text(null, locale)) : text(id, locale)]
    }
  }
}

function readTexts(data: readonly object[]) {
  const texts = data.map((one) => Buffer.from(JSON.stringify({ event: 'notification.read', data: one })))
  return () => texts
}
