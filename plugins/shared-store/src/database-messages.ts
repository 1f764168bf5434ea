import { PollLoop } from '@plinth/coordination'
import type { Database } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { StoredEntries } from './entries.ts'
import { Listeners, type ReceivedMessage } from './listeners.ts'

interface DatabaseMessagesOptions {
  readonly db: Database
  readonly entries: StoredEntries
  readonly clock: Clock
  readonly log: Logger
  readonly pollIntervalMs: number
}

/** A message can become visible up to this time after its timestamp, because a transaction commits late. */
const overlapMs = 10_000
const keptMs = 60_000
/**
 * Time in milliseconds after which polling slows down if no message of another process arrives. Messages are only for
 * other processes.
 */
const aloneMs = 45_000
const aloneIntervalMs = 5000
/** Interval in milliseconds at which each subscriber writes a heartbeat message, so that other subscribers see it. */
const beatMs = 15_000
const beatChannel = 'process'

interface Row {
  readonly id: unknown
  readonly channel: string
  readonly content: string
  readonly sent_at: unknown
}

/**
 * Publishes and receives messages by polling a table. Polls often while heartbeats show other processes, and rarely
 * otherwise. A process without subscribers does not poll.
 */
export class DatabaseMessages {
  readonly #options: DatabaseMessagesOptions
  readonly #listeners: Listeners
  /** Ids of delivered messages that may be read again, with their times. */
  readonly #delivered = new Map<string, number>()
  /** Ids of messages of this process that it has not read yet. */
  readonly #own = new Set<string>()
  #polling: { readonly stop: AbortController; readonly loop: PollLoop } | undefined
  #seenUntil = 0
  /** Monotonic time at which a message of another process was last read. */
  #othersAt = Number.NEGATIVE_INFINITY
  #beatAt = Number.NEGATIVE_INFINITY
  #hasIds: Promise<void> | undefined

  constructor(options: DatabaseMessagesOptions) {
    this.#options = options
    this.#listeners = new Listeners(options.log)
  }

  async publish(channel: string, message: string): Promise<void> {
    await this.#send(channel, message)
    this.#options.db.afterCommit(() => this.#polling?.loop.wake())
  }

  async subscribe(channel: string, received: ReceivedMessage): Promise<() => Promise<void>> {
    // Delivers earlier messages to the existing listeners first, because the new listener must not receive them.
    const since = await this.#options.entries.now()
    const before = await this.#read(since - beatMs)
    if (this.#polling !== undefined) await this.#deliver(this.#polling.stop.signal)
    const remove = this.#listeners.add(channel, received)
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
    await polling?.loop.stop()
  }

  async sweep(): Promise<void> {
    const { db, entries } = this.#options
    await db.execute('delete from shared_store_message where sent_at < ?', [(await entries.now()) - keptMs])
  }

  #start(since: number, before: readonly Row[]): void {
    const { clock, log, pollIntervalMs } = this.#options
    this.#seenUntil = since
    this.#delivered.clear()
    for (const { id } of before) this.#note(String(id), since)
    const stop = new AbortController()
    let readAt = clock.monotonic()
    const look = async () => {
      if (clock.monotonic() - this.#beatAt >= beatMs) await this.#beat()
      await this.#deliver(stop.signal)
      // Some messages may have been deleted before this process read them.
      if (clock.monotonic() - readAt > keptMs - overlapMs) this.#listeners.tellGap()
      readAt = clock.monotonic()
      return Number.POSITIVE_INFINITY
    }
    const isAlone = () => clock.monotonic() - this.#othersAt > aloneMs
    const pollMs = () => (isAlone() ? Math.max(aloneIntervalMs, pollIntervalMs) : pollIntervalMs)
    this.#polling = { stop, loop: new PollLoop({ look, pollMs, subject: 'messages', clock, log }) }
    this.#polling.loop.start()
  }

  async #beat(): Promise<void> {
    await this.#send(beatChannel, '')
    this.#beatAt = this.#options.clock.monotonic()
  }

  async #send(channel: string, message: string): Promise<void> {
    const { db, entries } = this.#options
    const now = await entries.now()
    await this.#reserveIds()
    const id = db.newId()
    const isRead = this.#polling !== undefined
    if (isRead) this.#own.add(String(id))
    try {
      const statement = 'insert into shared_store_message (id, channel, content, sent_at) values (?, ?, ?, ?)'
      await db.execute(statement, [id, channel, message, now])
    } catch (error) {
      this.#own.delete(String(id))
      throw error
    }
  }

  /** In the process of a command, ids exist only after the first transaction, so this runs an empty transaction. */
  #reserveIds(): Promise<void> {
    this.#hasIds ??= this.#options.db
      .statements(async () => {})
      .catch((error: unknown) => {
        this.#hasIds = undefined
        throw error
      })
    return this.#hasIds
  }

  #note(id: string, at: number): void {
    this.#delivered.set(id, at)
    if (!this.#own.delete(id)) this.#othersAt = this.#options.clock.monotonic()
  }

  async #deliver(signal: AbortSignal): Promise<void> {
    const rows = await this.#read(this.#seenUntil)
    for (const { id, channel, content, sent_at } of rows) {
      if (signal.aborted) return
      const at = Number(sent_at)
      this.#seenUntil = Math.max(this.#seenUntil, at)
      if (this.#delivered.has(String(id))) continue
      this.#note(String(id), at)
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
