import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { EventRef, PublishOptions } from './contract.ts'
import { dueAtOnce } from './entities.ts'
import { eventsError } from './errors.ts'
import { encodePayload } from './payload.ts'

/** What the dispatcher can go for without looking through the outbox. */
export type Hint = { readonly id: number } | { readonly key: string }

const longestKey = 200
const controlCharacter = /[\p{Cc}\p{Cs}]/u

export interface OutboxWriterParts {
  readonly db: Database
  readonly clock: Clock
  /** Called after a commit. */
  readonly committed: (hint: Hint) => void
  /** True for events that this process delivers to nobody: they are done when they are published. */
  readonly isUnheard: (type: string) => boolean
  /** Called after the commit of such an event. */
  readonly passed: (type: string) => void
}

/** Writes events into the outbox. */
export class OutboxWriter {
  readonly #parts: OutboxWriterParts
  /** The write that runs in a transaction: calls that are not awaited must not mix their statements. */
  readonly #writing = new WeakMap<object, Promise<unknown>>()

  constructor(parts: OutboxWriterParts) {
    this.#parts = parts
  }

  /** See `Events.publish`. */
  async publish<T>(ref: EventRef<T>, payload: T, { key }: PublishOptions): Promise<number> {
    if (key !== undefined && (key === '' || key.length > longestKey || controlCharacter.test(key))) {
      throw eventsError('PLINTH_EVENTS_KEY', { event: ref.id })
    }
    const text = encodePayload(ref, payload)
    return this.#parts.db.transactional((em) => {
      const before = this.#writing.get(em) ?? Promise.resolve()
      const write = before.then(() => this.#insert(ref.id, text, key))
      this.#writing.set(
        em,
        write.catch(() => undefined),
      )
      return write
    })
  }

  async #insert(type: string, payload: string, key: string | undefined): Promise<number> {
    const { db, clock, committed, isUnheard, passed } = this.#parts
    const now = new Date(clock.now())
    const id = db.newId()
    const isDone = isUnheard(type)
    const position = key === undefined || isDone ? null : await this.#nextPosition(key, now)
    const [status, finishedAt] = isDone ? ['delivered', now] : ['pending', null]
    await db.execute(
      `insert into outbox_event
         (id, type, payload, stream_key, position, status, attempts, next_at, created_at, finished_at)
       values (?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
      [id, type, payload, key ?? null, position, status, dueAtOnce, now, finishedAt],
    )
    db.afterCommit(() => (isDone ? passed(type) : committed(key === undefined ? { id } : { key })))
    return id
  }

  /** Locks the key until the transaction ends, so that positions are given out in the order of the commits. */
  async #nextPosition(key: string, now: Date): Promise<number> {
    const conflict =
      this.#parts.db.dialect === 'mysql' || this.#parts.db.dialect === 'mariadb'
        ? 'on duplicate key update last_position = last_position + 1, updated_at = values(updated_at)'
        : `on conflict (stream_key) do update
           set last_position = outbox_stream.last_position + 1, updated_at = excluded.updated_at`
    await this.#parts.db.execute(
      `insert into outbox_stream (stream_key, last_position, updated_at) values (?, 1, ?) ${conflict}`,
      [key, now],
    )
    const [row] = await this.#parts.db.query<{ last_position: number | string }>(
      'select last_position from outbox_stream where stream_key = ?',
      [key],
    )
    return Number(row?.last_position)
  }
}
