import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FilterQuery } from '@mikro-orm/core'
import { type LabelSource, maxLabels } from '@plinth/admin'
import { type Database, findPage, type PageWindow } from '@plinth/database'
import { bulkResultOf } from '@plinth/http'
import { omitUndefined } from '@plinth/kernel'
import type { Backlog } from './backlog.ts'
import { businessError, permissionCodes } from './declarations.ts'
import { DeliveryRow, dueImmediatelyTime, EventRow, type OutboxState } from './entities.ts'
import type { OutboxStore } from './outbox-store.ts'

interface OutboxFilter {
  readonly status?: OutboxState | undefined
  readonly type?: string | undefined
  readonly key?: string | undefined
  readonly traceId?: string | undefined
}

interface OutboxAdminDependencies {
  readonly db: Database
  readonly store: OutboxStore
  readonly backlog: Backlog
  readonly replayed: () => void
}

/** Maximum number of events per call, and per statement. */
const maxReplayed = 1_000
const replayedTogether = 100

/** Operations for operators. */
export class OutboxAdmin {
  readonly #parts: OutboxAdminDependencies

  constructor(parts: OutboxAdminDependencies) {
    this.#parts = parts
  }

  backlog() {
    return this.#parts.backlog.read()
  }

  list(filter: OutboxFilter, window: PageWindow) {
    return findPage(this.#parts.db.fork(), EventRow, conditionOf(filter), window, { exclude: ['payload'] })
  }

  /**
   * Returns one event. While some of its handlers are not done, also returns the handlers that are.
   *
   * @throws BusinessError `events.event-unknown`
   */
  async one(id: number) {
    const em = this.#parts.db.fork()
    const event = await em.findOne(EventRow, id)
    if (event === null) throw businessError('event-unknown')
    const deliveries = await em.find(DeliveryRow, { eventId: id }, { orderBy: { id: 'asc' } })
    return { event, deliveries: deliveries.map(({ handler, deliveredAt }) => ({ handler, deliveredAt })) }
  }

  /**
   * Resets the attempts of a failed, pending or scheduled event and makes it due now. If the event is being delivered,
   * its handlers may be called twice.
   *
   * @throws BusinessError `events.event-unknown`, `events.event-finished`
   */
  async replay(id: number): Promise<void> {
    if ((await this.#replay({ id, status: { $in: ['failed', 'pending', 'scheduled'] } })) === 0) await this.#reject(id)
  }

  /** Replays matching failed events, oldest first, at most 1,000. `isMore` is true if more events match. */
  async replayAll(filter: Omit<OutboxFilter, 'status'> & { readonly ids?: readonly number[] | undefined }) {
    const { ids: done, ...counted } = await this.#replayMatching(filter)
    if (filter.ids === undefined) return { ...counted, results: [] }
    const known = await this.#parts.db.fork().find(EventRow, { id: { $in: filter.ids } }, { fields: ['id'] })
    const found = new Set(known.map(({ id }) => id))
    const outcomeOf = (id: number) => (done.has(id) ? 'done' : found.has(id) ? 'unchanged' : 'unknown')
    return { ...counted, results: bulkResultOf(filter.ids, outcomeOf).results }
  }

  async #replayMatching(filter: Parameters<OutboxAdmin['replayAll']>[0]) {
    const { db } = this.#parts
    const replayed = new Set<number>()
    const ids = filter.ids === undefined ? [] : [{ id: { $in: filter.ids } }]
    let affected = 0
    let last = 0
    while (affected < maxReplayed) {
      const where = { $and: [conditionOf(filter), ...ids, { status: 'failed' as const, id: { $gt: last } }] }
      const found = await db
        .fork()
        .find(EventRow, where, { fields: ['id'], orderBy: { id: 'asc' }, limit: replayedTogether + 1 })
      const step = found.slice(0, replayedTogether).map(({ id }) => id)
      affected += await this.#replay({ id: { $in: step }, status: 'failed' })
      for (const id of step) replayed.add(id)
      if (found.length <= replayedTogether) return { affected, isMore: false, ids: replayed }
      last = step.at(-1) ?? last
      // SQLite blocks the event loop, so other work gets a chance to run here.
      await nextTurn()
    }
    return { affected, isMore: true, ids: replayed }
  }

  /**
   * Skips a failed, pending or scheduled event, so that later events of its key can be delivered.
   *
   * @throws BusinessError `events.event-unknown`, `events.event-finished`
   */
  async skip(id: number): Promise<void> {
    const { event } = await this.one(id)
    if (!(await this.#parts.store.skip(event))) await this.#reject(id)
    this.#parts.db.afterCommit(this.#parts.replayed)
  }

  async #replay(where: object): Promise<number> {
    const values = {
      status: 'pending' as const,
      lane: 'database' as const,
      attempts: 0,
      nextAt: dueImmediatelyTime,
      leaseToken: null,
    }
    const affected = await this.#parts.db.fork().nativeUpdate(EventRow, where, values)
    if (affected > 0) this.#parts.db.afterCommit(this.#parts.replayed)
    return affected
  }

  async #reject(id: number): Promise<never> {
    await this.one(id)
    throw businessError('event-finished')
  }
}

const conditionOf = ({ status, type, key, traceId }: OutboxFilter): FilterQuery<EventRow> & object => {
  const traceparent = traceId === undefined ? undefined : { $like: `00-${traceId}-%` }
  return omitUndefined<FilterQuery<EventRow> & object>({ status, type, streamKey: key, traceparent } as never)
}

/** Names of events: their types. */
export const eventLabels = (db: Database): LabelSource => {
  const labelsOf = (rows: readonly EventRow[]) => rows.map(({ id, type }) => ({ id, name: type }))
  return {
    permission: permissionCodes.view,
    scope: 'all',
    byIds: async (ids) =>
      labelsOf(await db.fork().find(EventRow, { id: { $in: ids.map(Number).filter(Number.isSafeInteger) } })),
    search: async (text) =>
      labelsOf(await db.fork().find(EventRow, { type: text }, { orderBy: { id: 'desc' }, limit: maxLabels })),
  }
}
