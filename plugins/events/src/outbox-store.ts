import { randomUUID } from 'node:crypto'
import { type DatabaseTime, LeaseLostError } from '@plinth/coordination'
import { type Database, exactInteger, insertRows, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { type EventLane, eventLanes } from './contract.ts'
import { blockedEventTime, DeliveryRow, dueImmediatelyTime, EventRow } from './entities.ts'

/** Proves that this process may deliver an event while the lease is valid. */
export interface DeliveryClaim {
  readonly id: number
  readonly key: string | null
  readonly token: string
}

export interface DueEvents {
  /** Due events that do not wait for an earlier event with the same key. */
  readonly events: readonly { readonly id: number; readonly lane: EventLane }[]
  readonly isMore: boolean
  /** Milliseconds until the next event is due, if known. */
  readonly nextInMs: number | undefined
}

/** Maximum number of due events of each kind per poll. */
const lookSize = 50
/** Number of events marked as waiting that one poll checks, in case such an event is now the first of its key. */
const checkedPerPoll = 10
/** Maximum number of events that one poll marks as waiting. On SQLite, other calls wait during this. */
const putAsideTogether = 500

interface Candidate {
  readonly kind: 'fresh' | 'timed' | 'stray' | 'scheduled' | 'waiting' | 'soon' | 'later'
  readonly id: unknown
  readonly lane: EventLane
  readonly stream_key: string | null
  readonly position: unknown
  readonly head: unknown
  readonly in_ms: unknown
}

/**
 * Reads and changes events for the dispatcher. Each change checks the token of the claim, so a process that has lost
 * its lease changes nothing.
 *
 * Only the first unfinished event of a key is delivered. If a poll finds a due event that is not the first of its key,
 * it marks this event as waiting. The process that finishes the first event makes the next one due in the same
 * transaction.
 */
export class OutboxStore {
  readonly #db: Database
  readonly #clock: Clock
  readonly #time: DatabaseTime
  readonly #maxWaitMs: () => number
  /** Events marked as waiting are checked in the order of their ids. All up to this id have been checked. */
  #examinedUpTo = 0

  /**
   * @param maxWaitMs longest lease or delay. If an event is due more than twice this time ahead, a clock was wrong, and
   *   the event is due immediately.
   */
  constructor(db: Database, clock: Clock, time: DatabaseTime, maxWaitMs: () => number) {
    this.#db = db
    this.#clock = clock
    this.#time = time
    this.#maxWaitMs = maxWaitMs
  }

  /**
   * Returns due events, longest waiting first. Marks events that have an earlier unfinished event of their key as
   * waiting.
   */
  async look(): Promise<DueEvents> {
    const now = this.#time.now()
    const horizon = this.#horizon()
    const wait = this.#time.until('next_at')
    const columns = 'id, lane, stream_key, position'
    const pending = `from outbox_event where status = 'pending' and`
    const scheduled = `from outbox_event where status = 'scheduled' and`
    // Each lane has its own limits, so that many events of one lane do not hide those of the other.
    const due = (name: string) =>
      `select * from (select 'fresh' as kind, ${columns}, 0 as in_ms ${pending} lane = ? and next_at = ?
         order by id limit ${lookSize}) fresh_${name}
       union all select * from (select 'timed' as kind, ${columns}, 0 as in_ms ${pending} lane = ? and next_at > ?
         and next_at <= ${now.sql} order by next_at, id limit ${lookSize}) timed_${name}
       union all select * from (select 'scheduled' as kind, ${columns}, 0 as in_ms ${scheduled} lane = ?
         and next_at <= ${now.sql} order by next_at, id limit ${lookSize}) scheduled_${name}`
    const rows = await this.#db.query<Candidate>(
      `select c.kind, c.id, c.lane, c.stream_key, c.position, c.in_ms,
         (select p.position from outbox_event p where p.stream_key = c.stream_key and p.position is not null
          order by p.position limit 1) as head
       from (${eventLanes.map(due).join(' union all ')}
         union all select * from (select 'stray' as kind, ${columns}, 0 as in_ms ${pending} next_at > ${horizon.sql} and next_at < ?
               order by next_at, id limit ${lookSize}) stray
         union all select * from (select 'waiting' as kind, ${columns}, 0 as in_ms ${pending} next_at = ? and id > ?
               order by id limit ${checkedPerPoll}) waiting
         union all select * from (select 'soon' as kind, ${columns}, ${wait.sql} as in_ms ${pending} next_at > ${now.sql}
               and next_at <= ${horizon.sql} order by next_at limit 1) soon
         union all select * from (select 'later' as kind, ${columns}, ${wait.sql} as in_ms ${scheduled} next_at > ${now.sql}
               order by next_at limit 1) later) c`,
      [
        ...eventLanes.flatMap((lane) =>
          [[dueImmediatelyTime], [dueImmediatelyTime, ...now.parameters], now.parameters].flatMap((more) => [
            lane,
            ...more,
          ]),
        ),
        ...horizon.parameters,
        blockedEventTime,
        blockedEventTime,
        this.#examinedUpTo,
        ...wait.parameters,
        ...now.parameters,
        ...horizon.parameters,
        ...wait.parameters,
        ...now.parameters,
      ],
    )
    const of = (...kinds: readonly Candidate['kind'][]) => rows.filter(({ kind }) => kinds.includes(kind))
    const waiting = of('waiting')
    this.#examinedUpTo = waiting.length < checkedPerPoll ? 0 : exactInteger(waiting.at(-1)?.id)
    const found = of('fresh', 'timed', 'stray', 'scheduled')
    await this.#putAside(found.filter((candidate) => !isFirst(candidate)))
    const waits = of('soon', 'later').map(({ in_ms }) => Math.max(0, Math.ceil(Number(in_ms))))
    return {
      events: [...found, ...waiting].filter(isFirst).map(({ id, lane }) => ({ id: exactInteger(id), lane })),
      isMore: (['fresh', 'timed', 'stray', 'scheduled'] as const).some((kind) =>
        eventLanes.some((lane) => of(kind).filter((candidate) => candidate.lane === lane).length >= lookSize),
      ),
      nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
    }
  }

  async load(id: number): Promise<EventRow | null> {
    return this.#db.fork().findOne(EventRow, id)
  }

  async head(key: string): Promise<EventRow | null> {
    const where = { streamKey: key, position: { $ne: null } }
    const [first] = await this.#db.fork().find(EventRow, where, { orderBy: { position: 'asc' }, limit: 1 })
    return first ?? null
  }

  /**
   * Claims an event and counts an attempt. Returns `undefined` if the event waits for an earlier event of its key,
   * another process delivers it, or it was attempted since it was read.
   */
  async claim(
    { id, streamKey, attempts }: Pick<EventRow, 'id' | 'streamKey' | 'attempts'>,
    leaseMs: number,
  ): Promise<DeliveryClaim | undefined> {
    const token = randomUUID()
    const lease = this.#time.after(leaseMs)
    const due = this.#isDue()
    const taken = await this.#db.execute(
      `update outbox_event set status = 'pending', lease_token = ?, next_at = ${lease.sql}, attempts = attempts + 1
       where id = ? and attempts = ? and ${due.sql}`,
      [token, ...lease.parameters, id, attempts, ...due.parameters],
    )
    return taken === 1 ? { id, key: streamKey ?? null, token } : undefined
  }

  /**
   * Uses the reserved connection, so that renewals work while all other connections are busy. Returns false if the
   * lease was lost.
   */
  renew(claim: DeliveryClaim, leaseMs: number): Promise<boolean> {
    return this.#renew(this.#db.reserved, claim, leaseMs)
  }

  async #renew(db: Pick<Database, 'execute'>, { id, token }: DeliveryClaim, leaseMs: number): Promise<boolean> {
    const lease = this.#time.after(leaseMs)
    const renewed = await db.execute(
      `update outbox_event set next_at = ${lease.sql} where id = ? and lease_token = ?`,
      [...lease.parameters, id, token],
    )
    return renewed > 0
  }

  /** Returns the names of handlers that are done with the event. Only the holder of the claim adds names. */
  async handled({ id }: DeliveryClaim): Promise<ReadonlySet<string>> {
    const sql = 'select handler from outbox_delivery where event_id = ?'
    return new Set((await this.#db.query<{ handler: string }>(sql, [id])).map(({ handler }) => handler))
  }

  /**
   * Records that one handler is done while others are not. Uses the current transaction if there is one.
   *
   * @throws LeaseLostError
   */
  async note(claim: DeliveryClaim, handler: string, leaseMs: number): Promise<void> {
    await this.#db.transactional(async () => {
      if (!(await this.#renew(this.#db, claim, leaseMs))) throw new LeaseLostError()
      const delivery = { id: this.#db.newId(), eventId: claim.id, handler, deliveredAt: this.#now() }
      await insertRows(this.#db, DeliveryRow, [delivery])
    })
  }

  /**
   * Finishes the event after all handlers are done.
   *
   * @throws LeaseLostError
   */
  async finish({ id, key, token }: DeliveryClaim): Promise<void> {
    const finished = await this.#leave(key, `${delivered} where id = ? and lease_token = ?`, [this.#now(), id, token])
    if (!finished) throw new LeaseLostError()
  }

  /**
   * Finishes an event that has no handlers, without a claim. Returns false if the event is not due or another process
   * delivers it.
   */
  async pass({ id, streamKey }: Pick<EventRow, 'id' | 'streamKey'>): Promise<boolean> {
    const due = this.#isDue()
    return this.#leave(streamKey ?? null, `${delivered} where id = ? and ${due.sql}`, [
      this.#now(),
      id,
      ...due.parameters,
    ])
  }

  /** Skips a scheduled, pending or failed event. Returns false for other states. */
  async skip({ id, streamKey }: Pick<EventRow, 'id' | 'streamKey'>): Promise<boolean> {
    return this.#db.transactional(async () => {
      // The lock prevents another process from finishing the first event of the key at the same time.
      if (streamKey != null) await this.#lockHead(streamKey)
      return this.#leave(
        streamKey ?? null,
        `update outbox_event set status = 'skipped', position = null, lease_token = null, finished_at = ?
         where id = ? and status in ('scheduled', 'pending', 'failed')`,
        [this.#now(), id],
      )
    })
  }

  /**
   * Schedules the next attempt of the event.
   *
   * @param lane lane of the first handler that is not done
   * @throws LeaseLostError
   */
  async retry({ id, token }: DeliveryClaim, lane: EventLane, delayMs: number, reason: string): Promise<void> {
    const later = this.#time.after(delayMs)
    await this.#change(
      `update outbox_event set next_at = ${later.sql}, lane = ?, lease_token = null, last_error = ?
       where id = ? and lease_token = ?`,
      [...later.parameters, lane, reason, id, token],
    )
  }

  /**
   * Moves the event to another lane, whose handlers belong to the same attempt.
   *
   * @param reason error of a handler of this lane
   * @throws LeaseLostError
   */
  async handOver({ id, token }: DeliveryClaim, lane: EventLane, reason: string | null): Promise<void> {
    await this.#change(
      `update outbox_event set next_at = ?, lane = ?, lease_token = null, attempts = attempts - 1, last_error = ?
       where id = ? and lease_token = ?`,
      [dueImmediatelyTime, lane, reason, id, token],
    )
  }

  /**
   * Releases the claim without counting the attempt, and delays the event.
   *
   * @throws LeaseLostError
   */
  async postpone({ id, token }: DeliveryClaim, delayMs: number): Promise<void> {
    const later = this.#time.after(Math.min(delayMs, this.#maxWaitMs()))
    await this.#change(
      `update outbox_event set next_at = ${later.sql}, lease_token = null, attempts = attempts - 1
       where id = ? and lease_token = ?`,
      [...later.parameters, id, token],
    )
  }

  /**
   * Marks the event as failed. Later events of its key continue to wait, unless they are in the order of publication.
   *
   * @throws LeaseLostError
   */
  async fail({ id, key, token }: DeliveryClaim, reason: string): Promise<void> {
    const isFailed = await this.#leave(
      key,
      `update outbox_event set status = 'failed', lease_token = null, last_error = ?,
         position = case when position = id then null else position end
       where id = ? and lease_token = ?`,
      [reason, id, token],
    )
    if (!isFailed) throw new LeaseLostError()
  }

  /**
   * Releases the claim without counting the attempt.
   *
   * @throws LeaseLostError
   */
  async release({ id, token }: DeliveryClaim): Promise<void> {
    await this.#change(
      `update outbox_event set next_at = ?, lease_token = null, attempts = attempts - 1
       where id = ? and lease_token = ?`,
      [dueImmediatelyTime, id, token],
    )
  }

  /**
   * Finishes an event with the statement `sql` and makes the next event of its key due. Returns false if nothing was
   * changed.
   */
  async #leave(key: string | null, sql: string, parameters: readonly Parameter[]): Promise<boolean> {
    if (key === null) return (await this.#db.execute(sql, parameters)) === 1
    return this.#db.transactional(async () => {
      if ((await this.#db.execute(sql, parameters)) === 0) return false
      // The subquery is wrapped, because MySQL cannot update a table that it selects from.
      await this.#db.execute(
        `update outbox_event set next_at = ?
         where id = (select id from (${headOf}) as head) and status = 'pending' and next_at = ?`,
        [dueImmediatelyTime, key, blockedEventTime],
      )
      return true
    })
  }

  async #putAside(behind: readonly Candidate[]): Promise<void> {
    const places = new Map<string, number>()
    for (const { stream_key: key, position } of behind) {
      if (key !== null) places.set(key, Math.min(exactInteger(position), places.get(key) ?? Number.MAX_SAFE_INTEGER))
    }
    if (places.size === 0) return
    const width = Math.ceil(putAsideTogether / places.size)
    // All processes lock in this order, which prevents deadlocks.
    const sorted = [...places].sort(([a], [b]) => (a < b ? -1 : 1))
    await this.#db.transactional(async () => {
      for (const [key, from] of sorted) {
        const head = await this.#lockHead(key)
        if (head === undefined) continue
        await this.#db.execute(
          `update outbox_event set next_at = ?
           where stream_key = ? and position >= ? and position < ? and status = 'pending' and next_at <> ?`,
          [blockedEventTime, key, Math.max(from, head + 1), from + width, blockedEventTime],
        )
      }
    })
  }

  /**
   * Locks the first event of the key until the transaction ends, and returns its position. Returns `undefined` if the
   * key has no event.
   */
  async #lockHead(key: string): Promise<number | undefined> {
    const lock = this.#db.dialect === 'sqlite' ? '' : ' for update'
    while (true) {
      const [locked] = await this.#db.query<{ position: unknown }>(headOf + lock, [key])
      if (locked !== undefined) return exactInteger(locked.position)
      // If the previous holder of the lock has finished the event, the next event is now the first.
      if ((await this.#db.query(headOf, [key])).length === 0) return undefined
    }
  }

  #isDue() {
    const now = this.#time.now()
    const horizon = this.#horizon()
    return {
      sql: `((status = 'pending' and (next_at <= ${now.sql} or next_at > ${horizon.sql}))
        or (status = 'scheduled' and next_at <= ${now.sql}))`,
      parameters: [...now.parameters, ...horizon.parameters, ...now.parameters],
    }
  }

  #horizon() {
    return this.#time.after(2 * this.#maxWaitMs())
  }

  async #change(sql: string, parameters: readonly Parameter[]): Promise<void> {
    if ((await this.#db.execute(sql, parameters)) === 0) throw new LeaseLostError()
  }

  #now(): Date {
    return new Date(this.#clock.now())
  }
}

const headOf = `select id, position from outbox_event where stream_key = ? and position is not null
  order by position limit 1`
const delivered = `update outbox_event set status = 'delivered', position = null, lease_token = null, last_error = null,
  finished_at = ?`

const isFirst = ({ stream_key: key, position, head }: Candidate) =>
  key === null || exactInteger(position) === exactInteger(head)
