import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { OutboxDelivery, OutboxEvent, type OutboxState, outboxStates } from './entities.ts'
import { refusal } from './failures.ts'

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

/** What operators see of the outbox and do about failed events. */
export class OutboxAdmin {
  readonly #db: Database
  readonly #clock: Clock
  readonly #replayed: () => void

  /** @param replayed called after a commit that made events due */
  constructor(db: Database, clock: Clock, replayed: () => void) {
    this.#db = db
    this.#clock = clock
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

  /** Gives a failed event all its attempts again. Throws `events.event-unknown`, `events.event-not-failed`. */
  async replay(id: number): Promise<void> {
    if ((await this.#replay({ id })) === 0) await this.#refuse(id)
  }

  /** Replays the failed events among those that match, and answers how many there were. */
  async replayAll(filter: Omit<OutboxFilter, 'status'> & { readonly ids?: readonly number[] | undefined }) {
    return this.#replay({ ...conditionOf(filter), ...(filter.ids === undefined ? {} : { id: { $in: filter.ids } }) })
  }

  /** Leaves a failed event out, so that later ones of its key go on. Throws like `replay`. */
  async skip(id: number): Promise<void> {
    const skipped = await this.#db.execute(
      `update outbox_event set status = 'skipped', position = null, finished_at = ?
       where id = ? and status = 'failed'`,
      [new Date(this.#clock.now()), id],
    )
    if (skipped === 0) await this.#refuse(id)
    this.#db.afterCommit(this.#replayed)
  }

  async #replay(where: object): Promise<number> {
    const values = { status: 'pending' as const, attempts: 0, nextAt: new Date(this.#clock.now()), leaseToken: null }
    const affected = await this.#db.fork().nativeUpdate(OutboxEvent, { ...where, status: 'failed' }, values)
    if (affected > 0) this.#db.afterCommit(this.#replayed)
    return affected
  }

  async #refuse(id: number): Promise<never> {
    await this.one(id)
    throw refusal('event-not-failed')
  }
}

const conditionOf = ({ status, type, key }: OutboxFilter) => ({
  ...(status === undefined ? {} : { status }),
  ...(type === undefined ? {} : { type }),
  ...(key === undefined ? {} : { streamKey: key }),
})
