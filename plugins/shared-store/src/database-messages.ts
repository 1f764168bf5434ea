import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { Entries } from './entries.ts'
import { type Heard, Listeners } from './listeners.ts'

export interface DatabaseMessagesOptions {
  readonly db: Database
  readonly entries: Entries
  readonly clock: Clock
  readonly log: Logger
  readonly pollIntervalMs: number
}

/** A message may become visible this much after its time: transactions commit late and statements wait. */
const overlapMs = 10_000
const keptMs = 60_000

interface Row {
  readonly id: unknown
  readonly channel: string
  readonly content: string
  readonly sent_at: unknown
}

/** Publish and subscribe over a table that everybody polls who listens. Nobody listens, nobody polls. */
export class DatabaseMessages {
  readonly #options: DatabaseMessagesOptions
  readonly #listeners: Listeners
  /** Messages of the overlap that were delivered, with their time. */
  readonly #delivered = new Map<string, number>()
  #polling: { readonly stop: AbortController; readonly done: Promise<void>; wake: () => void } | undefined
  #seenUntil = 0

  constructor(options: DatabaseMessagesOptions) {
    this.#options = options
    this.#listeners = new Listeners(options.log)
  }

  async publish(channel: string, message: string): Promise<void> {
    const { db, entries } = this.#options
    const now = await entries.now()
    await db.execute('insert into shared_store_message (id, channel, content, sent_at) values (?, ?, ?, ?)', [
      db.newId(),
      channel,
      message,
      now,
    ])
    db.afterCommit(() => this.#polling?.wake())
  }

  async subscribe(channel: string, heard: Heard): Promise<() => Promise<void>> {
    // What was said before is not for this listener, though it may lie in the overlap or wait for the next poll.
    const since = await this.#options.entries.now()
    const before = await this.#read(since)
    if (this.#polling !== undefined) await this.#deliver(this.#polling.stop.signal)
    const remove = this.#listeners.add(channel, heard)
    if (this.#polling === undefined) this.#start(since, before)
    return async () => {
      remove()
      if (this.#listeners.size === 0) await this.stop()
    }
  }

  async stop(): Promise<void> {
    const polling = this.#polling
    this.#polling = undefined
    polling?.stop.abort()
    await polling?.done
  }

  async sweep(): Promise<void> {
    const { db, entries } = this.#options
    await db.execute('delete from shared_store_message where sent_at < ?', [(await entries.now()) - keptMs])
  }

  #start(since: number, before: readonly Row[]): void {
    this.#seenUntil = since
    this.#delivered.clear()
    for (const { id } of before) this.#delivered.set(String(id), since)
    const stop = new AbortController()
    const polling = { stop, done: Promise.resolve(), wake: () => {} }
    this.#polling = polling
    polling.done = this.#poll(stop.signal, polling)
  }

  async #poll(signal: AbortSignal, polling: { wake: () => void }): Promise<void> {
    const { clock, log, pollIntervalMs } = this.#options
    let readAt = clock.monotonic()
    while (!signal.aborted) {
      const rest = new AbortController()
      polling.wake = () => rest.abort()
      await clock.sleep(pollIntervalMs, AbortSignal.any([signal, rest.signal]))
      if (signal.aborted) return
      try {
        await this.#deliver(signal)
        // Older messages may have been swept.
        if (clock.monotonic() - readAt > keptMs - overlapMs) this.#listeners.tellGap()
        readAt = clock.monotonic()
      } catch (error) {
        log.error({ err: error }, 'messages cannot be read')
      }
    }
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    const rows = await this.#read(this.#seenUntil)
    for (const { id, channel, content, sent_at } of rows) {
      if (signal.aborted) return
      const at = Number(sent_at)
      this.#seenUntil = Math.max(this.#seenUntil, at)
      if (this.#delivered.has(String(id))) continue
      this.#delivered.set(String(id), at)
      this.#listeners.tell(channel, content)
    }
    for (const [id, at] of this.#delivered) if (at < this.#seenUntil - overlapMs) this.#delivered.delete(id)
  }

  #read(until: number): Promise<Row[]> {
    return this.#options.db.query<Row>(
      'select id, channel, content, sent_at from shared_store_message where sent_at >= ? order by sent_at, id',
      [until - overlapMs],
    )
  }
}
