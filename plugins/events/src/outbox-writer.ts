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

/** Writes events into the outbox. */
export class OutboxWriter {
  readonly #db: Database
  readonly #clock: Clock
  readonly #committed: (hint: Hint) => void
  /** The write that runs in a transaction: calls that are not awaited must not mix their statements. */
  readonly #writing = new WeakMap<object, Promise<unknown>>()

  constructor(db: Database, clock: Clock, committed: (hint: Hint) => void) {
    this.#db = db
    this.#clock = clock
    this.#committed = committed
  }

  /** See `Events.publish`. */
  async publish<T>(ref: EventRef<T>, payload: T, { key }: PublishOptions): Promise<number> {
    if (key !== undefined && (key === '' || key.length > longestKey || controlCharacter.test(key))) {
      throw eventsError('PLINTH_EVENTS_KEY', { event: ref.id })
    }
    const text = encodePayload(ref, payload)
    return this.#db.transactional((em) => {
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
    const now = new Date(this.#clock.now())
    const id = this.#db.newId()
    const position = key === undefined ? null : await this.#nextPosition(key, now)
    await this.#db.execute(
      `insert into outbox_event (id, type, payload, stream_key, position, status, attempts, next_at, created_at)
       values (?, ?, ?, ?, ?, 'pending', 0, ?, ?)`,
      [id, type, payload, key ?? null, position, dueAtOnce, now],
    )
    this.#db.afterCommit(() => this.#committed(key === undefined ? { id } : { key }))
    return id
  }

  /** Locks the key until the transaction ends, so that positions are given out in the order of the commits. */
  async #nextPosition(key: string, now: Date): Promise<number> {
    const conflict =
      this.#db.dialect === 'mysql' || this.#db.dialect === 'mariadb'
        ? 'on duplicate key update last_position = last_position + 1, updated_at = values(updated_at)'
        : `on conflict (stream_key) do update
           set last_position = outbox_stream.last_position + 1, updated_at = excluded.updated_at`
    await this.#db.execute(
      `insert into outbox_stream (stream_key, last_position, updated_at) values (?, 1, ?) ${conflict}`,
      [key, now],
    )
    const [row] = await this.#db.query<{ last_position: number | string }>(
      'select last_position from outbox_stream where stream_key = ?',
      [key],
    )
    return Number(row?.last_position)
  }
}
