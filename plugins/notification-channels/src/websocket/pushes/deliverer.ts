import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Inbox, InboxContent, NotificationPreferences } from '@plinth/inbox'
import { type Clock, errorReason, type Logger, withinDeadline } from '@plinth/kernel'
import type { ClientSocket, SocketTable, Targets } from '../connections/socket-table.ts'
import type { SocketMetrics } from '../metrics.ts'

interface PushFacts {
  readonly targets: Targets
  /** Categories of the push. A user who wants none of them does not get the push. */
  readonly categories: readonly string[]
}

/** A new message. Each client gets it in its language. */
export interface CreatedPush extends PushFacts {
  readonly event: 'notification.created'
  readonly content: InboxContent
  /**
   * Ids of the items in the inboxes, in the order of `targets.userIds`. Empty for a message that is not in the inbox. A
   * broadcast has one id for all users.
   */
  readonly itemIds: readonly number[]
}

/** Items that were read on another device. Each element is the data of one event. */
interface ReadPush extends PushFacts {
  readonly event: 'notification.read'
  readonly data: readonly object[]
}

/** A push to clients. Instances send it to each other as JSON. */
export type Push = CreatedPush | ReadPush

/** Number of connections that are processed in one tick of the event loop. */
const step = 500
/** Deadline of a delivery, which includes its waiting time. Writes that have begun continue after it. */
const deadlineMs = 5_000
const maxWaiting = 1_000

interface DelivererDependencies {
  readonly table: SocketTable
  readonly enabled: () => boolean
  readonly present: Inbox['present']
  readonly preferences: Pick<NotificationPreferences, 'wanted'> | undefined
  readonly metrics: SocketMetrics
  readonly clock: Clock
  readonly log: Logger
}

interface DeliveryWatch {
  /** Cancels a delivery that has not begun. */
  readonly signal?: AbortSignal
  onBegin?(): void
}

/**
 * Sends pushes in the order of arrival. A user whose preferences exclude a push does not get it, even as a member of a
 * group (document 2 of the specification, "Preferences"). If preferences cannot be read, nothing is sent.
 */
export class Deliverer {
  readonly #parts: DelivererDependencies
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(parts: DelivererDependencies) {
    this.#parts = parts
  }

  /**
   * Delivers a push. Returns the number of reached connections. @throws if cancelled, or if preferences cannot be read
   */
  async deliver(push: Push, { signal, onBegin = () => {} }: DeliveryWatch = {}): Promise<number> {
    const { table, enabled, metrics, clock } = this.#parts
    if (!enabled() || table.of(push.targets).size === 0) return 0
    if (this.#waiting >= maxWaiting) {
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

  /** Like `deliver`, but logs an error and returns 0. */
  async deliverQuietly(push: Push): Promise<number> {
    try {
      return await this.deliver(push)
    } catch (error) {
      this.#parts.log.warn(
        { event: push.event, reason: errorReason(error) },
        'a message could not be pushed to connections',
      )
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
    // A broadcast is in the inbox of each user who has not switched off the inbox.
    const inInbox =
      push.targets.usersUpTo === undefined
        ? userIds
        : [...(await preferences.wanted(userIds, { channel: 'database', category: push.categories[0] ?? 'system' }))]
    for (const category of push.categories) {
      for (const userId of await preferences.wanted(inInbox, { channel: 'websocket', category })) wanted.add(userId)
    }
    return sockets.filter(({ caller }) => caller.userId === undefined || wanted.has(caller.userId))
  }

  /** Returns the text of the push for each language and user, with the id of the user's item. */
  async #createdTexts({ content, targets, itemIds }: CreatedPush, sockets: readonly ClientSocket[]) {
    const locales = new Set(sockets.map(({ caller }) => caller.locale))
    const views = new Map<string, string>()
    for (const locale of locales) views.set(locale, JSON.stringify(await this.#parts.present(content, locale)).slice(1))
    const { userIds = [], usersUpTo } = targets
    const itemOf = new Map(itemIds.map((itemId, index) => [userIds[index], itemId]))
    const text = (id: number | null, locale: string) =>
      `{"event":"notification.created","data":{"id":${id},"unread":true,"readAt":null,${views.get(locale)}}`
    const shared = new Map([...locales].map((locale) => [locale, Buffer.from(text(null, locale))]))
    return ({ caller: { userId, locale } }: ClientSocket): readonly (string | Buffer)[] => {
      const id = userId === undefined ? undefined : usersUpTo === undefined ? itemOf.get(userId) : itemIds[0]
      return [id === undefined ? (shared.get(locale) ?? text(null, locale)) : text(id, locale)]
    }
  }
}

function readTexts(data: readonly object[]) {
  const texts = data.map((one) => Buffer.from(JSON.stringify({ event: 'notification.read', data: one })))
  return () => texts
}
