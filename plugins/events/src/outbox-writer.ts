import type { DatabaseTime, SqlTerm } from '@plinth/coordination'
import { type Database, insertOrAddToRows, insertRow, sqlValue } from '@plinth/database'
import { type Clock, inSpan, type Tracer } from '@plinth/kernel'
import type { EventLane, EventRef, PublishOptions } from './contract.ts'
import { eventsError } from './declarations.ts'
import { dueImmediatelyTime, EventRow, StreamRow } from './entities.ts'
import { encodePayload } from './payload.ts'

/** An event or a key whose next event the dispatcher can read without polling. */
export type DispatchHint = ({ readonly id: number } | { readonly key: string }) & { readonly lane: EventLane }

const maxKeyLength = 200
/** Ten years in milliseconds. */
const maxAheadMs = 3_653 * 86_400_000
const controlCharacter = /[\p{Cc}\p{Cs}]/u

interface OutboxWriterDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly time: DatabaseTime
  readonly committed: (hint?: DispatchHint) => void
  /** True for events without a handler in this process. They are finished when they are published. */
  readonly isUnheard: (type: string) => boolean
  readonly passed: (type: string) => void
  readonly laneOf: (type: string) => EventLane
  readonly tracer?: Tracer | undefined
}

/** Writes events to the outbox. */
export class OutboxWriter {
  readonly #parts: OutboxWriterDependencies
  /**
   * Current write of each transaction. Without waiting for it, calls that are not awaited would mix their statements.
   */
  readonly #writing = new WeakMap<object, Promise<unknown>>()

  constructor(parts: OutboxWriterDependencies) {
    this.#parts = parts
  }

  async publish<T>(ref: EventRef<T>, payload: T, options: PublishOptions): Promise<number> {
    const { key, order = 'commit' } = options
    if (key !== undefined && (key === '' || key.length > maxKeyLength || controlCharacter.test(key))) {
      throw eventsError('PLINTH_EVENTS_KEY', { event: ref.id })
    }
    const scheduledFor = this.#moment(ref.id, options)
    const text = encodePayload(ref, payload)
    return this.#parts.db.transactional((em) => {
      const before = this.#writing.get(em) ?? Promise.resolve()
      const span = { kind: 'producer', attributes: { 'messaging.destination.name': ref.id } } as const
      const write = inSpan(this.#parts.tracer, `publish ${ref.id}`, span, () =>
        before.then(() => this.#insert(ref.id, text, { key, order }, scheduledFor)),
      )
      this.#writing.set(
        em,
        write.catch(() => undefined),
      )
      return write
    })
  }

  /** Returns the scheduled time as an SQL term, or `undefined` if the event is due immediately. */
  #moment(type: string, { key, notBefore, delayMs }: PublishOptions): SqlTerm | undefined {
    if (notBefore === undefined && delayMs === undefined) return undefined
    const reject = (reason: string) => eventsError('PLINTH_EVENTS_NOT_BEFORE', { event: type, reason })
    if (key !== undefined) throw reject('an event with an ordering key cannot be delayed')
    if (notBefore !== undefined && delayMs !== undefined) throw reject('it has both notBefore and delayMs')
    const { clock, time } = this.#parts
    const ahead = delayMs ?? (notBefore ?? 0) - clock.now()
    if (!Number.isSafeInteger(delayMs ?? notBefore) || ahead > maxAheadMs) throw reject('it is out of range')
    if (ahead <= 0) return undefined
    return notBefore === undefined ? time.after(ahead) : { sql: '?', parameters: [new Date(notBefore)] }
  }

  async #insert(
    type: string,
    payload: string,
    { key, order }: { readonly key: string | undefined; readonly order: 'commit' | 'publication' },
    scheduledFor: SqlTerm | undefined,
  ): Promise<number> {
    const { db, clock, committed, isUnheard, passed, laneOf, tracer } = this.#parts
    const now = new Date(clock.now())
    const isDone = isUnheard(type)
    const lane = laneOf(type)
    const isOrdered = key !== undefined && !isDone
    const next = isOrdered && order === 'commit' ? await this.#nextPosition(key, now) : undefined
    // Created while the key is locked, so that ids of a key also have the order of commits.
    const id = db.newId()
    const position = isOrdered ? (next ?? id) : null
    const waiting = scheduledFor === undefined ? 'pending' : 'scheduled'
    const status = isDone ? 'delivered' : waiting
    const finishedAt = isDone ? now : null
    await insertRow(db, EventRow, {
      id,
      type,
      payload,
      streamKey: key ?? null,
      position,
      status,
      lane,
      attempts: 0,
      nextAt: scheduledFor === undefined ? dueImmediatelyTime : sqlValue<Date>(scheduledFor),
      notBefore: scheduledFor === undefined ? null : sqlValue<Date>(scheduledFor),
      createdAt: now,
      finishedAt,
      traceparent: tracer?.traceparent ?? null,
    })
    const hint = key === undefined ? { id, lane } : { key, lane }
    db.afterCommit(() => (isDone ? passed(type) : committed(scheduledFor === undefined ? hint : undefined)))
    return id
  }

  /** Locks the key until the transaction ends, so that positions have the order of commits. */
  async #nextPosition(key: string, now: Date): Promise<number> {
    const change = { key: 'streamKey', sums: ['lastPosition'], sets: ['updatedAt'] } as const
    await insertOrAddToRows(this.#parts.db, StreamRow, change, [{ streamKey: key, lastPosition: 1, updatedAt: now }])
    const [row] = await this.#parts.db.query<{ last_position: number | string }>(
      'select last_position from outbox_stream where stream_key = ?',
      [key],
    )
    return Number(row?.last_position)
  }
}
