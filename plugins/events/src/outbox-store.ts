import { randomUUID } from 'node:crypto'
import { type DatabaseTime, LeaseLostError } from '@plinth/coordination'
import { type Database, exactInteger, insertRows, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { type EventLane, eventLanes } from './contract.ts'
import { blockedEventTime, DeliveryRow, dueImmediatelyTime, EventRow } from './entities.ts'
import type { DispatchHint } from './outbox-writer.ts'

/** Proves that this process may deliver an event while the lease is valid. Events claimed together share the token. */
export interface DeliveryClaim {
  readonly id: number
  readonly key: string | null
  readonly token: string
}

export interface DueEvents {
  /** Due events that do not wait for an earlier event with the same key. */
  readonly events: readonly DispatchHint[]
  readonly isMore: boolean
  /** Milliseconds until the next event is due, if known. */
  readonly nextInMs: number | undefined
}

/** Maximum number of due events of each kind per poll. */
const lookSize = 100
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
 * A key is delivered by one process at a time: it claims the first unfinished event, or a run of events from the first
 * one on. If a poll finds a due event that is not the first of its key, it marks this event as waiting. The process that
 * finishes the events before it makes it due in the same transaction.
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
      events: [...found, ...waiting]
        .filter(isFirst)
        .map(({ id, lane, stream_key: key }) => (key === null ? { id: exactInteger(id), lane } : { key, lane })),
      isMore: (['fresh', 'timed', 'stray', 'scheduled'] as const).some((kind) =>
        eventLanes.some((lane) => of(kind).filter((candidate) => candidate.lane === lane).length >= lookSize),
      ),
      nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
    }
  }

  /**
   * Returns the events of the hints, in this order: one event, or the first unfinished events of a key.
   *
   * @param perKey maximum number of events of each key; only a few values, because each needs its own statement
   */
  async read(hints: readonly DispatchHint[], perKey: number): Promise<EventRow[][]> {
    const ids = hints.flatMap((hint) => ('key' in hint ? [] : [hint.id]))
    const keys = hints.flatMap((hint) => ('key' in hint ? [hint.key] : []))
    const heads = keys.length === 0 ? [] : await this.#heads<{ id: unknown }>(keys, 'id', perKey)
    const found = [...ids, ...heads.map(({ id }) => exactInteger(id))]
    if (found.length === 0) return hints.map(() => [])
    const options = { orderBy: { id: 'asc' }, disableIdentityMap: true } as const
    const rows = await this.#db.fork().find(EventRow, { id: { $in: padded(found) } }, options)
    const byId = new Map(rows.map((row) => [row.id, row]))
    const byKey = Map.groupBy(rows, ({ streamKey }) => streamKey ?? '')
    const place = ({ position }: EventRow) => position ?? Number.MAX_SAFE_INTEGER
    return hints.map((hint) =>
      'key' in hint
        ? (byKey.get(hint.key) ?? []).sort((a, b) => place(a) - place(b))
        : [byId.get(hint.id) ?? []].flat(),
    )
  }

  /**
   * Claims events together and counts an attempt of each. Leaves out events that wait for an earlier event of their
   * key, that another process delivers, or that were attempted since they were read.
   *
   * @param events with the same lane and number of attempts. Events of a key follow one another from the first
   *   unfinished one on.
   */
  async claim(events: readonly EventRow[], leaseMs: number): Promise<DeliveryClaim[]> {
    const [first] = events
    if (first === undefined) return []
    const token = randomUUID()
    const lease = this.#time.after(leaseMs)
    const due = this.#isDue()
    const claims = events.map(({ id, streamKey }) => ({ id, key: streamKey ?? null, token }))
    const ids = idList(claims)
    const taken = await this.#db.execute(
      `update outbox_event set status = 'pending', lease_token = ?, next_at = ${lease.sql}, attempts = attempts + 1
       where id in ${ids.sql} and attempts = ? and lane = ? and ${due.sql}`,
      [token, ...lease.parameters, ...ids.parameters, first.attempts, first.lane, ...due.parameters],
    )
    if (taken === events.length) return claims
    const held = await this.#held(this.#db, claims)
    // An event whose predecessor is not claimed must wait for it.
    const gaps = new Set<string>()
    const kept: DeliveryClaim[] = []
    const stray: DeliveryClaim[] = []
    for (const claim of claims) {
      if (held.has(claim.id)) (claim.key !== null && gaps.has(claim.key) ? stray : kept).push(claim)
      else if (claim.key !== null) gaps.add(claim.key)
    }
    await this.release(stray)
    return kept
  }

  /**
   * Renews the leases of events that were claimed together, and returns the ids of those that are not lost. Uses the
   * reserved connection, so that renewals work while all other connections are busy.
   */
  renew(claims: readonly DeliveryClaim[], leaseMs: number): Promise<ReadonlySet<number>> {
    return this.#renew(this.#db.reserved, claims, leaseMs)
  }

  async #renew(db: Statements, claims: readonly DeliveryClaim[], leaseMs: number): Promise<ReadonlySet<number>> {
    const lease = this.#time.after(leaseMs)
    const { sql, parameters } = owned(claims)
    const set = `update outbox_event set next_at = ${lease.sql}`
    const renewed = await db.execute(`${set} where ${sql}`, [...lease.parameters, ...parameters])
    return renewed === claims.length ? new Set(claims.map(({ id }) => id)) : this.#held(db, claims)
  }

  /** Returns the ids of the events that still have the token of their claim. */
  async #held(db: Statements, claims: readonly DeliveryClaim[]): Promise<ReadonlySet<number>> {
    const { sql, parameters } = owned(claims)
    const rows = await db.query<{ id: unknown }>(`select id from outbox_event where ${sql}`, parameters)
    return new Set(rows.map(({ id }) => exactInteger(id)))
  }

  /** Returns by id the names of handlers that are done with an event. Only the holder of the claim adds names. */
  async handled(claims: readonly DeliveryClaim[]): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const ids = idList(claims)
    const rows = await this.#db.query<{ event_id: unknown; handler: string }>(
      `select event_id, handler from outbox_delivery where event_id in ${ids.sql}`,
      ids.parameters,
    )
    const byId = Map.groupBy(rows, ({ event_id }) => exactInteger(event_id))
    return new Map([...byId].map(([id, found]) => [id, new Set(found.map(({ handler }) => handler))]))
  }

  /**
   * Records that one handler is done while others are not. Uses the current transaction if there is one.
   *
   * @throws LeaseLostError
   */
  async note(claim: DeliveryClaim, handler: string, leaseMs: number): Promise<void> {
    await this.#db.transactional(async () => {
      if ((await this.#renew(this.#db, [claim], leaseMs)).size === 0) throw new LeaseLostError()
      const delivery = { id: this.#db.newId(), eventId: claim.id, handler, deliveredAt: this.#now() }
      await insertRows(this.#db, DeliveryRow, [delivery])
    })
  }

  /**
   * Finishes events that were claimed together, after all their handlers are done. Uses the current transaction if there
   * is one.
   *
   * @param isAttempt false if the events have no handlers, so that no attempt is counted
   * @throws LeaseLostError if the lease of one of them was lost; then none is finished
   */
  async finish(claims: readonly DeliveryClaim[], isAttempt = true): Promise<void> {
    const { sql, parameters } = owned(claims)
    const keys = [...new Set(claims.flatMap(({ key }) => key ?? []))]
    const finished = await this.#leave(
      keys,
      `update outbox_event set status = 'delivered', position = null, lease_token = null, last_error = null,
         finished_at = ?, attempts = attempts - ? where ${sql}`,
      [this.#now(), isAttempt ? 0 : 1, ...parameters],
      claims.length,
    )
    if (!finished) throw new LeaseLostError()
  }

  /** Skips a scheduled, pending or failed event. Returns false for other states. */
  async skip({ id, streamKey }: Pick<EventRow, 'id' | 'streamKey'>): Promise<boolean> {
    return this.#db.transactional(async () => {
      // The lock prevents another process from finishing the first event of the key at the same time.
      if (streamKey != null) await this.#lockHead(streamKey)
      return this.#leave(
        streamKey == null ? [] : [streamKey],
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
      key === null ? [] : [key],
      `update outbox_event set status = 'failed', lease_token = null, last_error = ?,
         position = case when position = id then null else position end
       where id = ? and lease_token = ?`,
      [reason, id, token],
    )
    if (!isFailed) throw new LeaseLostError()
  }

  /** Releases claims that were made together without counting the attempts. Lost claims are left out. */
  async release(claims: readonly DeliveryClaim[]): Promise<void> {
    if (claims.length === 0) return
    const { sql, parameters } = owned(claims)
    await this.#db.execute(
      `update outbox_event set next_at = ?, lease_token = null, attempts = attempts - 1 where ${sql}`,
      [dueImmediatelyTime, ...parameters],
    )
  }

  /**
   * Finishes events with the statement `sql` and makes the next event of each key due. Returns false if nothing was
   * changed.
   *
   * @throws LeaseLostError if the statement changed fewer than `count` events; the transaction is rolled back
   */
  async #leave(keys: readonly string[], sql: string, parameters: readonly Parameter[], count = 1): Promise<boolean> {
    if (keys.length === 0 && count === 1) return (await this.#db.execute(sql, parameters)) === 1
    return this.#db.statements(async () => {
      const changed = await this.#db.execute(sql, parameters)
      if (changed === 0) return false
      if (changed !== count) throw new LeaseLostError()
      // The first events of the keys are locked or finished by this transaction, so nobody else changes the next ones.
      const heads = await this.#heads<{ id: unknown; is_blocked: unknown }>(
        keys,
        `id, case when status = 'pending' and next_at = ? then 1 else 0 end as is_blocked`,
        1,
        [blockedEventTime],
      )
      const blocked = heads.filter(({ is_blocked }) => Number(is_blocked) === 1)
      if (blocked.length === 0) return true
      const ids = idList(blocked.map(({ id }) => ({ id: exactInteger(id) })))
      await this.#db.execute(`update outbox_event set next_at = ? where id in ${ids.sql} and next_at = ?`, [
        dueImmediatelyTime,
        ...ids.parameters,
        blockedEventTime,
      ])
      return true
    })
  }

  /** Reads the first unfinished events of each key. `columns` may have parameters. */
  async #heads<Row extends object>(
    keys: readonly string[],
    columns: string,
    perKey: number,
    parameters: readonly Parameter[] = [],
  ): Promise<Row[]> {
    if (keys.length === 0) return []
    const places = padded(keys)
    const of = (_: string, place: number) =>
      `select * from (select ${columns} from outbox_event where stream_key = ? and position is not null
        order by position limit ${perKey}) head_${place}`
    return this.#db.query<Row>(
      places.map(of).join(' union all '),
      places.flatMap((key) => [...parameters, key]),
    )
  }

  /**
   * Does not change events that are claimed with their predecessors, and leaves out keys whose first event is locked. To
   * wait for such a lock could be a deadlock, because a claim locks the first events of several keys.
   */
  async #putAside(behind: readonly Candidate[]): Promise<void> {
    const places = new Map<string, { readonly head: number; readonly from: number }>()
    for (const { stream_key: key, position, head } of behind) {
      if (key === null || head === null) continue
      const from = Math.min(exactInteger(position), places.get(key)?.from ?? Number.MAX_SAFE_INTEGER)
      places.set(key, { head: exactInteger(head), from })
    }
    if (places.size === 0) return
    const width = Math.ceil(putAsideTogether / places.size)
    const lock = this.#db.dialect === 'sqlite' ? '' : ' for update skip locked'
    const due = this.#isDue()
    await this.#db.transactional(async () => {
      for (const [key, { head, from }] of places) {
        // The lock keeps other processes from finishing this event meanwhile. The process that finishes it later makes
        // the next event of the key due.
        const locked = await this.#db.query(
          `select id from outbox_event where stream_key = ? and position = ?${lock}`,
          [key, head],
        )
        if (locked.length === 0) continue
        await this.#db.execute(
          `update outbox_event set next_at = ?
           where stream_key = ? and position >= ? and position < ? and status = 'pending' and next_at <> ?
             and (lease_token is null or ${due.sql})`,
          [blockedEventTime, key, Math.max(from, head + 1), from + width, blockedEventTime, ...due.parameters],
        )
      }
    })
  }

  /** Locks the first event of the key, if the key has one, until the transaction ends. */
  async #lockHead(key: string): Promise<void> {
    const lock = this.#db.dialect === 'sqlite' ? '' : ' for update'
    // If the previous holder of the lock has finished the event, the next event is now the first.
    while ((await this.#db.query(headOf + lock, [key])).length === 0) {
      if ((await this.#db.query(headOf, [key])).length === 0) return
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

type Statements = Pick<Database, 'execute' | 'query'>

/** Repeats the last value until the length is a power of two, because each length needs its own prepared statement. */
function padded<T>(values: readonly T[]): readonly T[] {
  const size = 2 ** Math.ceil(Math.log2(values.length))
  return Array.from({ length: size }, (_, place) => values[Math.min(place, values.length - 1)] as T)
}

function idList(rows: readonly { readonly id: number }[]) {
  const ids = padded(rows.map(({ id }) => id))
  return { sql: `(${ids.map(() => '?').join(', ')})`, parameters: ids }
}

/** Condition for events that still have the token of their claims. */
function owned(claims: readonly DeliveryClaim[]) {
  const ids = idList(claims)
  return { sql: `id in ${ids.sql} and lease_token = ?`, parameters: [...ids.parameters, claims[0]?.token ?? null] }
}

const isFirst = ({ stream_key: key, position, head }: Candidate) =>
  key === null || exactInteger(position) === exactInteger(head)
