import { randomUUID } from 'node:crypto'
import { type DatabaseTime, LeaseLost } from '@plinth/coordination'
import { type Database, exactInteger, insertRows, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { dueAtOnce, OutboxDelivery, OutboxEvent, waitsForItsTurn } from './entities.ts'

/** The right to deliver one event, for as long as its lease lasts. */
export interface Claim {
  readonly id: number
  /** Ordering key of the event. */
  readonly key: string | null
  readonly token: string
}

/** What one look into the outbox finds. */
export interface Look {
  /** Events that are due, each without an earlier one of its key. */
  readonly ids: readonly number[]
  /** Another look would find more. */
  readonly isMore: boolean
  /** Milliseconds until the next event is due, as far as that is known. */
  readonly nextInMs: number | undefined
}

/** Events that one look reads of those that are due at once, and as many of those whose time has come. */
const lookSize = 50
/** Events behind others that one look reads, to find out whether their turn has come. */
const examined = 10
/** Places that one look puts aside; SQLite answers nobody else meanwhile. */
const putAsideTogether = 500

interface Candidate {
  readonly kind: 'fresh' | 'timed' | 'stray' | 'scheduled' | 'waiting' | 'soon' | 'later'
  readonly id: unknown
  readonly stream_key: string | null
  readonly position: unknown
  readonly head: unknown
  readonly in_ms: unknown
}

/**
 * What a dispatcher reads and writes. Each change of an event names the token of the claim under which it was made, so a
 * process that lost its lease without noticing changes nothing.
 *
 * Of a key only the first event is ever delivered. Events are published as due; a look that finds one behind another puts
 * it aside, under the lock of the first one, and who finishes the first one puts the next in its place in the same
 * transaction. So an event that was put aside has one before it that is not finished.
 */
export class OutboxStore {
  readonly #db: Database
  readonly #clock: Clock
  readonly #time: DatabaseTime
  readonly #longestWaitMs: () => number
  /** Up to where the events that wait behind others were examined. */
  #examinedUpTo = 0

  /**
   * @param longestWaitMs longest lease or delay that a process sets: a moment that lies further ahead than twice this was
   *   written by a clock that was wrong, and is no reason to wait
   */
  constructor(db: Database, clock: Clock, time: DatabaseTime, longestWaitMs: () => number) {
    this.#db = db
    this.#clock = clock
    this.#time = time
    this.#longestWaitMs = longestWaitMs
  }

  /** Reads what is due, those that wait longest first, and puts aside what it finds behind other events. */
  async look(): Promise<Look> {
    const now = this.#time.now()
    const horizon = this.#horizon()
    const wait = this.#time.until('next_at')
    const columns = 'id, stream_key, position'
    const pending = `from outbox_event where status = 'pending' and`
    const scheduled = `from outbox_event where status = 'scheduled' and`
    const rows = await this.#db.query<Candidate>(
      `select c.kind, c.id, c.stream_key, c.position, c.in_ms,
         (select p.position from outbox_event p where p.stream_key = c.stream_key and p.position is not null
          order by p.position limit 1) as head
       from (select * from (select 'fresh' as kind, ${columns}, 0 as in_ms ${pending} next_at = ?
               order by id limit ${lookSize}) fresh
         union all select * from (select 'timed' as kind, ${columns}, 0 as in_ms ${pending} next_at > ? and next_at <= ${now.sql}
               order by next_at, id limit ${lookSize}) timed
         union all select * from (select 'stray' as kind, ${columns}, 0 as in_ms ${pending} next_at > ${horizon.sql} and next_at < ?
               order by next_at, id limit ${lookSize}) stray
         union all select * from (select 'scheduled' as kind, ${columns}, 0 as in_ms ${scheduled} next_at <= ${now.sql}
               order by next_at, id limit ${lookSize}) scheduled
         union all select * from (select 'waiting' as kind, ${columns}, 0 as in_ms ${pending} next_at = ? and id > ?
               order by id limit ${examined}) waiting
         union all select * from (select 'soon' as kind, ${columns}, ${wait.sql} as in_ms ${pending} next_at > ${now.sql}
               and next_at <= ${horizon.sql} order by next_at limit 1) soon
         union all select * from (select 'later' as kind, ${columns}, ${wait.sql} as in_ms ${scheduled} next_at > ${now.sql}
               order by next_at limit 1) later) c`,
      [
        dueAtOnce,
        dueAtOnce,
        ...now.parameters,
        ...horizon.parameters,
        waitsForItsTurn,
        ...now.parameters,
        waitsForItsTurn,
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
    this.#examinedUpTo = waiting.length < examined ? 0 : exactInteger(waiting.at(-1)?.id)
    const due = of('fresh', 'timed', 'stray', 'scheduled')
    await this.#putAside(due.filter((candidate) => !isFirst(candidate)))
    const waits = of('soon', 'later').map(({ in_ms }) => Math.max(0, Math.ceil(Number(in_ms))))
    return {
      ids: [...due, ...waiting].filter(isFirst).map(({ id }) => exactInteger(id)),
      isMore: (['fresh', 'timed', 'stray', 'scheduled'] as const).some((kind) => of(kind).length === lookSize),
      nextInMs: waits.length === 0 ? undefined : Math.min(...waits),
    }
  }

  async load(id: number): Promise<OutboxEvent | null> {
    return this.#db.fork().findOne(OutboxEvent, id)
  }

  /** The first event of the key that is not delivered or skipped. */
  async head(key: string): Promise<OutboxEvent | null> {
    const where = { streamKey: key, position: { $ne: null } }
    const [first] = await this.#db.fork().find(OutboxEvent, where, { orderBy: { position: 'asc' }, limit: 1 })
    return first ?? null
  }

  /**
   * Claims an event that has no earlier one of its key, counting an attempt, unless it has to wait, somebody else has it, or
   * somebody made an attempt since it was read.
   */
  async claim(
    { id, streamKey, attempts }: Pick<OutboxEvent, 'id' | 'streamKey' | 'attempts'>,
    leaseMs: number,
  ): Promise<Claim | undefined> {
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

  /** Beside whatever keeps the connections of the process. False when the lease was lost. */
  renew(claim: Claim, leaseMs: number): Promise<boolean> {
    return this.#renew(this.#db.reserved, claim, leaseMs)
  }

  async #renew(db: Pick<Database, 'execute'>, { id, token }: Claim, leaseMs: number): Promise<boolean> {
    const lease = this.#time.after(leaseMs)
    const renewed = await db.execute(
      `update outbox_event set next_at = ${lease.sql} where id = ? and lease_token = ?`,
      [...lease.parameters, id, token],
    )
    return renewed > 0
  }

  /** Names of handlers that have handled the event. Under a claim nobody else adds to them. */
  async handled({ id }: Claim): Promise<ReadonlySet<string>> {
    const sql = 'select handler from outbox_delivery where event_id = ?'
    return new Set((await this.#db.query<{ handler: string }>(sql, [id])).map(({ handler }) => handler))
  }

  /** Notes that one handler is done while others are not. In the transaction around it, if any. @throws LeaseLost */
  async note(claim: Claim, handler: string, leaseMs: number): Promise<void> {
    await this.#db.transactional(async () => {
      if (!(await this.#renew(this.#db, claim, leaseMs))) throw new LeaseLost()
      const delivery = { id: this.#db.newId(), eventId: claim.id, handler, deliveredAt: this.#now() }
      await insertRows(this.#db, OutboxDelivery, [delivery])
    })
  }

  /** All handlers are done. @throws LeaseLost */
  async finish({ id, key, token }: Claim): Promise<void> {
    const finished = await this.#leave(key, `${delivered} where id = ? and lease_token = ?`, [this.#now(), id, token])
    if (!finished) throw new LeaseLost()
  }

  /** Finishes an event that nobody handles, without a claim. False when it is not due or somebody else has it. */
  async pass({ id, streamKey }: Pick<OutboxEvent, 'id' | 'streamKey'>): Promise<boolean> {
    const due = this.#isDue()
    return this.#leave(streamKey ?? null, `${delivered} where id = ? and ${due.sql}`, [
      this.#now(),
      id,
      ...due.parameters,
    ])
  }

  /** Leaves an event out that is scheduled, pending or failed, whatever place it has. False for another. */
  async skip({ id, streamKey }: Pick<OutboxEvent, 'id' | 'streamKey'>): Promise<boolean> {
    return this.#db.transactional(async () => {
      // It need not be the first: nobody may finish that one while this one leaves its place.
      if (streamKey != null) await this.#lockHead(streamKey)
      return this.#leave(
        streamKey ?? null,
        `update outbox_event set status = 'skipped', position = null, lease_token = null, finished_at = ?
         where id = ? and status in ('scheduled', 'pending', 'failed')`,
        [this.#now(), id],
      )
    })
  }

  /** Puts the event back for another attempt. @throws LeaseLost */
  async retry({ id, token }: Claim, delayMs: number, reason: string): Promise<void> {
    const later = this.#time.after(delayMs)
    await this.#change(
      `update outbox_event set next_at = ${later.sql}, lease_token = null, last_error = ?
       where id = ? and lease_token = ?`,
      [...later.parameters, reason, id, token],
    )
  }

  /** Gives the event up. It keeps its position, so later events of its key wait. @throws LeaseLost */
  async fail({ id, token }: Claim, reason: string): Promise<void> {
    await this.#change(
      `update outbox_event set status = 'failed', lease_token = null, last_error = ?
       where id = ? and lease_token = ?`,
      [reason, id, token],
    )
  }

  /** Gives the claim back as if it had never been taken. @throws LeaseLost */
  async release({ id, token }: Claim): Promise<void> {
    await this.#change(
      `update outbox_event set next_at = ?, lease_token = null, attempts = attempts - 1
       where id = ? and lease_token = ?`,
      [dueAtOnce, id, token],
    )
  }

  /** Takes an event out of its place, and lets the next one of its key come forward. False when nothing was changed. */
  async #leave(key: string | null, sql: string, parameters: readonly Parameter[]): Promise<boolean> {
    if (key === null) return (await this.#db.execute(sql, parameters)) === 1
    return this.#db.transactional(async () => {
      if ((await this.#db.execute(sql, parameters)) === 0) return false
      // Through a table of its own: MySQL changes nothing that it selects from.
      await this.#db.execute(
        `update outbox_event set next_at = ?
         where id = (select id from (${headOf}) as head) and status = 'pending' and next_at = ?`,
        [dueAtOnce, key, waitsForItsTurn],
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
    // One order everywhere, so that two processes do not wait for each other.
    const sorted = [...places].sort(([a], [b]) => (a < b ? -1 : 1))
    await this.#db.transactional(async () => {
      for (const [key, from] of sorted) {
        const head = await this.#lockHead(key)
        if (head === undefined) continue
        await this.#db.execute(
          `update outbox_event set next_at = ?
           where stream_key = ? and position >= ? and position < ? and status = 'pending' and next_at <> ?`,
          [waitsForItsTurn, key, Math.max(from, head + 1), from + width, waitsForItsTurn],
        )
      }
    })
  }

  /** Position of the first event of the key, which stays where it is until the transaction ends; undefined without one. */
  async #lockHead(key: string): Promise<number | undefined> {
    const lock = this.#db.dialect === 'sqlite' ? '' : ' for update'
    while (true) {
      const [locked] = await this.#db.query<{ position: unknown }>(headOf + lock, [key])
      if (locked !== undefined) return exactInteger(locked.position)
      // Who held the lock may have finished it: then another one is the first.
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
    return this.#time.after(2 * this.#longestWaitMs())
  }

  async #change(sql: string, parameters: readonly Parameter[]): Promise<void> {
    if ((await this.#db.execute(sql, parameters)) === 0) throw new LeaseLost()
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
