import { countRows, type Database, maxCounted, type RowCount } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { Counter, Gauge, type Registry } from 'prom-client'
import { type EventLane, eventLanes } from './contract.ts'
import type { Outcome } from './deliverer.ts'
import { EventRow, type OutboxState, outboxStates } from './entities.ts'

/**
 * Counts delivery attempts by event type and outcome, and measures the backlog when the registry is read. Events
 * without a handler in this process share one label, so that the number of series is limited.
 */
export function deliveryMetrics(
  registry: Registry,
  backlog: Backlog,
  isKnown: (type: string) => boolean,
): (type: string, outcome: Outcome) => void {
  const counter = new Counter({
    name: 'platform_events_deliveries_total',
    help: 'Attempts to deliver published events by event and outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  })
  new Gauge({
    name: 'platform_events_outbox_events',
    help: `Events in the outbox that are not delivered, by state; at most ${maxCounted} are counted`,
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset()
      // If the database fails, this metric is omitted and the other metrics are still returned.
      const counts = await backlog.open().catch(() => [])
      for (const [status, total] of counts) this.set({ status }, total)
    },
  })
  new Gauge({
    name: 'platform_events_oldest_pending_seconds',
    help: 'Time for which the oldest pending event of a lane has been due; 0 if no event is pending',
    labelNames: ['lane'],
    registers: [registry],
    async collect() {
      this.reset()
      const ages = await backlog.oldestPendingMs().catch(() => [])
      for (const [lane, ageMs] of ages) this.set({ lane }, ageMs / 1000)
    },
  })
  return (type, outcome) => counter.inc({ type: isKnown(type) ? type : 'other', outcome })
}

/** Maximum age in milliseconds of the counts for metrics. */
const keptMs = 15_000
/** Times in milliseconds since the epoch at which the oldest events of the lanes were due. */
type DueTimes = ReadonlyMap<EventLane, number>

/** Maximum number of pending events that are read to find the oldest one. */
const maxExamined = 1_000

/**
 * Counts the events in the outbox. Each count stops at the limit of `countRows`, so it stays cheap in a large table.
 */
export class Backlog {
  readonly #db: Database
  readonly #clock: Clock
  #oldest: { readonly until: number; readonly dueTimes: Promise<DueTimes> } | undefined
  #kept: { readonly until: number; readonly counts: Promise<ReadonlyMap<OutboxState, number>> } | undefined

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /** Counts scheduled, pending and failed events. Caches the counts for 15 seconds. */
  open(): Promise<ReadonlyMap<OutboxState, number>> {
    const now = this.#clock.monotonic()
    if (this.#kept === undefined || now >= this.#kept.until) {
      const counts = this.#count(['scheduled', 'pending', 'failed']).then(totalsOf)
      this.#kept = { until: now + keptMs, counts }
      counts.catch(() => {
        this.#kept = undefined
      })
    }
    return this.#kept.counts
  }

  /**
   * Returns by lane for how many milliseconds the oldest pending event has been due, by the clock of this process; 0 if no
   * event is pending. Caches the times for 15 seconds.
   */
  async oldestPendingMs(): Promise<ReadonlyMap<EventLane, number>> {
    const now = this.#clock.monotonic()
    if (this.#oldest === undefined || now >= this.#oldest.until) {
      const dueTimes = this.#oldestPending()
      this.#oldest = { until: now + keptMs, dueTimes }
      dueTimes.catch(() => {
        this.#oldest = undefined
      })
    }
    const dueTimes = await this.#oldest.dueTimes
    const wallMs = this.#clock.now()
    return new Map(eventLanes.map((lane) => [lane, Math.max(0, wallMs - (dueTimes.get(lane) ?? wallMs))]))
  }

  /** A scheduled event is due at its time, so it may be due later than events that were published after it. */
  async #oldestPending(): Promise<DueTimes> {
    const fields = ['lane', 'createdAt', 'notBefore'] as const
    const query = { fields, orderBy: { id: 'asc' }, limit: maxExamined } as const
    const rows = await this.#db.fork().find(EventRow, { status: 'pending' }, query)
    const dueTimes = new Map<EventLane, number>()
    for (const { lane, createdAt, notBefore } of rows) {
      const dueAt = (notBefore ?? createdAt).getTime()
      dueTimes.set(lane, Math.min(dueAt, dueTimes.get(lane) ?? dueAt))
    }
    return dueTimes
  }

  async read() {
    const counts = await this.#count(outboxStates)
    const oldest = await this.#db.fork().findOne(EventRow, { status: 'pending' }, { orderBy: { id: 'asc' } })
    // A key has at most one failed event, because the later events of the key wait for it.
    const blocked = await countRows(this.#db, {
      table: 'outbox_event',
      where: `status = 'failed' and stream_key is not null`,
      parameters: [],
      orderBy: 'stream_key',
    })
    const isCapped = [...counts.values(), blocked].some((count) => count.isCapped)
    return {
      counts: Object.fromEntries(totalsOf(counts)) as Record<OutboxState, number>,
      oldestPendingAt: oldest?.createdAt ?? null,
      blockedKeys: blocked.total,
      counted: isCapped ? ('capped' as const) : ('exact' as const),
    }
  }

  async #count(states: readonly OutboxState[]): Promise<ReadonlyMap<OutboxState, RowCount>> {
    const counts = new Map<OutboxState, RowCount>()
    for (const state of states) {
      const rows = { table: 'outbox_event', where: 'status = ?', parameters: [state], orderBy: 'id' }
      counts.set(state, await countRows(this.#db, rows))
    }
    return counts
  }
}

const totalsOf = (counts: ReadonlyMap<OutboxState, RowCount>) =>
  new Map([...counts].map(([state, { total }]) => [state, total]))
