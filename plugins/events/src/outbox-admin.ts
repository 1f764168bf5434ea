import type { Database } from '@plinth/database'
import { dueAtOnce, OutboxDelivery, OutboxEvent, type OutboxState, outboxStates } from './entities.ts'
import { refusal } from './failures.ts'
import type { OutboxStore } from './outbox-store.ts'

export interface OutboxFilter {
  readonly status?: OutboxState | undefined
  readonly type?: string | undefined
  readonly key?: string | undefined
}

export interface OutboxPage {
  readonly orderBy: readonly { readonly property: string; readonly direction: 'asc' | 'desc' }[]
  readonly page: number
  readonly size: number
}

/** What operators see of the outbox and do about those that are not delivered. */
export class OutboxAdmin {
  readonly #db: Database
  readonly #store: OutboxStore
  readonly #replayed: () => void

  /** @param replayed called after a commit that made events due */
  constructor(db: Database, store: OutboxStore, replayed: () => void) {
    this.#db = db
    this.#store = store
    this.#replayed = replayed
  }

  async backlog() {
    const em = this.#db.fork()
    const rows = await this.#db.query<{ status: OutboxState; total: number | string }>(
      'select status, count(*) as total from outbox_event group by status',
    )
    const totals = new Map(rows.map(({ status, total }) => [status, Number(total)]))
    const counts = Object.fromEntries(outboxStates.map((state) => [state, totals.get(state) ?? 0]))
    const oldest = await em.findOne(OutboxEvent, { status: 'pending' }, { orderBy: { id: 'asc' } })
    // A key has at most one failed event: what comes after it is never tried.
    const blockedKeys = await em.count(OutboxEvent, { status: 'failed', streamKey: { $ne: null } })
    return {
      counts: counts as Record<OutboxState, number>,
      oldestPendingAt: oldest?.createdAt ?? null,
      blockedKeys,
    }
  }

  async list(filter: OutboxFilter, { orderBy, page, size }: OutboxPage) {
    return this.#db.fork().findAndCount(OutboxEvent, conditionOf(filter), {
      orderBy: orderBy.map(({ property, direction }) => ({ [property]: direction })),
      limit: size,
      offset: (page - 1) * size,
    })
  }

  /** One event with the handlers that are done while others are not. Throws `events.event-unknown`. */
  async one(id: number) {
    const em = this.#db.fork()
    const event = await em.findOne(OutboxEvent, id)
    if (event === null) throw refusal('event-unknown')
    const deliveries = await em.find(OutboxDelivery, { eventId: id }, { orderBy: { id: 'asc' } })
    return { event, handled: deliveries.map(({ handler }) => handler) }
  }

  /**
   * Gives an event that is failed or pending all its attempts again, at once. What is being delivered at this moment may
   * be handled twice. Throws `events.event-unknown`, `events.event-finished`.
   */
  async replay(id: number): Promise<void> {
    if ((await this.#replay({ id, status: { $in: ['failed', 'pending'] } })) === 0) await this.#refuse(id)
  }

  /** Replays the failed events among those that match, and answers how many there were. */
  async replayAll(filter: Omit<OutboxFilter, 'status'> & { readonly ids?: readonly number[] | undefined }) {
    const ids = filter.ids === undefined ? {} : { id: { $in: filter.ids } }
    return this.#replay({ ...conditionOf(filter), ...ids, status: 'failed' })
  }

  /** Leaves an event out that is failed or pending, so that later ones of its key go on. Throws like `replay`. */
  async skip(id: number): Promise<void> {
    const { event } = await this.one(id)
    if (!(await this.#store.skip(event))) await this.#refuse(id)
    this.#db.afterCommit(this.#replayed)
  }

  async #replay(where: object): Promise<number> {
    const values = { status: 'pending' as const, attempts: 0, nextAt: dueAtOnce, leaseToken: null }
    const affected = await this.#db.fork().nativeUpdate(OutboxEvent, where, values)
    if (affected > 0) this.#db.afterCommit(this.#replayed)
    return affected
  }

  async #refuse(id: number): Promise<never> {
    await this.one(id)
    throw refusal('event-finished')
  }
}

const conditionOf = ({ status, type, key }: OutboxFilter) => ({
  ...(status === undefined ? {} : { status }),
  ...(type === undefined ? {} : { type }),
  ...(key === undefined ? {} : { streamKey: key }),
})
