import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@plinth/database'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { RecordedSend, RenderedSubject, SendEntry } from './row.ts'
import type { SendLogWriter } from './send-log-writer.ts'

export interface RecorderDependencies {
  readonly db: Pick<Database, 'dialect' | 'fork' | 'ping'>
  readonly writer: Pick<SendLogWriter, 'conclude' | 'entryOf' | 'write'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
  /** Counts sends that could not be recorded in the send log. */
  readonly countLost: ((rows: number) => void) | undefined
}

const largestBatch = 200
/**
 * Maximum weight of the rows that wait for the database, in characters: `rowWeight` for each row, and its payload.
 * Beyond this limit, sends are not recorded. It is enough for an outage of 20 s at 2,500 sends per second.
 */
export const maxBacklogWeight = 50_000_000
export const rowWeight = 1_000
/** Milliseconds without a successful write after which sends no longer wait for their rows. */
const patienceMs = 500
/** If more rows than this are waiting, a send does not wait for its row. */
const maxQueueLength = 20 * largestBatch
/** Milliseconds after the first failed write. The pause is doubled after each further failure. */
const firstPause = 250
const maxPauseMs = 5_000
/** Number of attempts to write a row that the database rejects although it works. */
const triesOfARow = 3
const pingTimeout = 5_000

/**
 * Records a send before it starts, and again with its outcome.
 *
 * Rows collect in memory during a write and go into the next one, so writes grow with the load. While writes succeed, a
 * send waits for its row. If none succeeds for `patienceMs`, messages are sent first and recorded later. Rows beyond
 * the memory limit are lost, counted and logged.
 *
 * A write does not join the transaction of the sender, because a rollback cannot undo the send. A graceful stop writes
 * the waiting rows. After a kill, rows in state `sending` become `unknown`.
 */
export class SendRecorder {
  readonly #parts: RecorderDependencies
  /** Runs writes outside the async context of a sender, because they must not join its transaction. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #closing = new AbortController()
  /** Rows to write, the oldest first, without duplicates. */
  #waiting: SendEntry[] = []
  #weight = 0
  /** Number of entries that were queued so far. */
  #taken = 0
  /** Number of entries that left the queue so far. */
  #settled = 0
  #writer: Promise<void> | undefined
  /** Number of failed writes since the last successful one. */
  #failures = 0
  /** True after `patienceMs` without a successful write. */
  #isBehind = false
  /** Resolves when `#isBehind` becomes true. */
  #fallingBehind = Promise.withResolvers<void>()
  /** Cancels the timer for `patienceMs`. */
  #patience: AbortController | undefined
  /** Number of lost rows that are not logged yet. */
  #lost = 0
  /** Resolves when the next write ends, whether it succeeds or fails. */
  #nextEnd = Promise.withResolvers<void>()

  constructor(parts: RecorderDependencies) {
    this.#parts = parts
  }

  /** Queues the row of a send. Resolves when the row is in the table, or after the maximum wait. */
  async begin(channel: string, sending: RecordedSend, shown: RenderedSubject): Promise<SendEntry> {
    const entry = this.#parts.writer.entryOf(channel, sending, shown)
    this.#queue(entry)
    const isLong = this.#isBehind || this.#waiting.length > maxQueueLength
    if (entry.isQueued && !isLong && !this.#isInTransaction()) {
      this.#patience ??= this.#wait()
      await Promise.race([entry.written.promise, this.#fallingBehind.promise])
    }
    return entry
  }

  /** Records a send that failed before a channel was called. */
  record(channel: string, sending: RecordedSend, shown: RenderedSubject, result: SendResult): SendEntry {
    const entry = this.#parts.writer.entryOf(channel, sending, shown)
    this.finish(entry, result)
    return entry
  }

  finish(entry: SendEntry, result: SendResult): void {
    if (entry.isLost) return
    this.#parts.writer.conclude(entry, result)
    this.#queue(entry)
  }

  /** Queues rows that another writer could not write. */
  writeLater(entries: readonly SendEntry[]): void {
    for (const entry of entries) this.#queue(entry)
  }

  /** Resolves when all rows that are queued now are written or lost, or when a write has failed. */
  async written(): Promise<void> {
    const expected = this.#taken
    while (this.#settled < expected && this.#failures === 0) await this.#nextEnd.promise
  }

  /** Stops: accepts no more rows, and tries once to write the waiting ones. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writer
    this.#patience?.abort()
    this.#reportLost()
  }

  #queue(entry: SendEntry): void {
    if (entry.isQueued) {
      this.#weigh(entry)
      return
    }
    const weight = weightOf(entry)
    const isClosed = this.#closing.signal.aborted
    if (isClosed || this.#weight + weight > maxBacklogWeight) {
      this.#lose([entry], isClosed ? 'the product stops' : 'too many rows wait for the database')
      return
    }
    entry.isQueued = true
    entry.written = Promise.withResolvers<void>()
    this.#waiting.push(entry)
    this.#taken++
    this.#weigh(entry)
    this.#writer ??= this.#outside(() => this.#write())
  }

  #weigh(entry: SendEntry): void {
    const weight = weightOf(entry)
    this.#weight += weight - entry.weight
    entry.weight = weight
  }

  /**
   * True if the sender has a transaction on SQLite, which has only one connection. The send must not wait for its row
   * then: the write would wait for the transaction, which waits for the send.
   */
  #isInTransaction(): boolean {
    const { db } = this.#parts
    return db.dialect === 'sqlite' && db.fork().isInTransaction()
  }

  #wait(): AbortController {
    const end = new AbortController()
    this.#parts.clock.sleep(patienceMs, end.signal).then(() => {
      if (!end.signal.aborted) this.#fallBehind()
    })
    return end
  }

  #fallBehind(): void {
    this.#isBehind = true
    this.#fallingBehind.resolve()
  }

  #progress(): void {
    this.#patience?.abort()
    this.#patience = this.#waiting.length > 0 ? this.#wait() : undefined
    if (!this.#isBehind || this.#waiting.length > maxQueueLength) return
    this.#isBehind = false
    this.#fallingBehind = Promise.withResolvers()
  }

  async #write(): Promise<void> {
    const { clock, log, writer } = this.#parts
    let size = largestBatch
    while (this.#waiting.length > 0) {
      // Calls of SQLite block the event loop. Waiting for the next turn lets all sends of this tick share one write.
      await nextTurn()
      const batch = this.#waiting.slice(0, size)
      // If an entry changes from now on, it is queued again.
      for (const entry of batch) entry.isQueued = false
      const waiters = batch.map(({ written }) => written)
      try {
        await writer.write(batch)
        for (const { resolve } of waiters) resolve()
        this.#forget(batch)
        if (this.#failures > 0) log.info({ waiting: this.#waiting.length }, 'the send log can be written again')
        this.#failures = 0
        size = Math.min(largestBatch, size * 2)
        this.#progress()
        if (this.#waiting.length === 0) this.#reportLost()
        this.#endWrite()
      } catch (error) {
        this.#fallBehind()
        await this.#failed(batch, error)
        size = Math.ceil(size / 4)
        this.#endWrite()
        if (this.#failures > 0) {
          const pause = Math.min(maxPauseMs, firstPause * 2 ** (this.#failures - 1))
          await clock.sleep(pause, this.#closing.signal)
        }
      }
    }
    this.#writer = undefined
  }

  async #failed(batch: readonly SendEntry[], error: unknown): Promise<void> {
    const reason = errorReason(error)
    this.#failures++
    if (this.#closing.signal.aborted) {
      this.#drop(this.#waiting, reason)
      return
    }
    if (this.#failures === 1) {
      this.#parts.log.error(
        { waiting: this.#waiting.length, reason },
        'the send log cannot be written; the write is retried',
      )
    }
    if (batch.length === 1 && this.#failures >= triesOfARow && (await this.#answers())) {
      this.#drop(batch, reason)
      return
    }
    // If an entry of the failed batch has changed since, it is queued only once, at its first position.
    const again = new Set(batch)
    const twice = this.#waiting.slice(batch.length).filter((entry) => again.has(entry))
    this.#settled += twice.length
    this.#waiting = [...batch, ...this.#waiting.slice(batch.length).filter((entry) => !again.has(entry))]
    for (const entry of batch) entry.isQueued = true
  }

  /** True if the database works. Then the row itself is the problem. */
  async #answers(): Promise<boolean> {
    return this.#parts.db.ping(AbortSignal.timeout(pingTimeout)).then(
      () => true,
      () => false,
    )
  }

  #drop(batch: readonly SendEntry[], reason: string): void {
    this.#lose(batch, reason)
    this.#forget(batch)
    this.#failures = 0
  }

  #forget(batch: readonly SendEntry[]): void {
    for (const entry of batch) {
      if (!entry.isQueued) {
        this.#weight -= entry.weight
        entry.weight = 0
      }
    }
    this.#waiting = this.#waiting.slice(batch.length)
    this.#settled += batch.length
  }

  #endWrite(): void {
    this.#nextEnd.resolve()
    this.#nextEnd = Promise.withResolvers()
  }

  /** Drops rows. The first lost row is logged immediately. Of the others, only the number is logged. */
  #lose(entries: readonly SendEntry[], reason: string): void {
    const { log, countLost } = this.#parts
    const [first] = entries
    if (first === undefined) return
    for (const entry of entries) entry.isLost = true
    countLost?.(entries.length)
    if (this.#lost === 0) {
      const { messageId, channel } = first.row
      log.error({ messageId, channel, reason }, 'a send could not be stored in the send log')
    }
    this.#lost += entries.length
  }

  #reportLost(): void {
    if (this.#lost > 1) this.#parts.log.error({ rows: this.#lost }, 'sends could not be stored in the send log')
    this.#lost = 0
  }
}

const weightOf = ({ row }: SendEntry) => rowWeight + (row.payload?.length ?? 0)
