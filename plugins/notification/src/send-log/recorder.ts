import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Database } from '@plinth/database'
import { type Clock, type Logger, reasonOf } from '@plinth/kernel'
import type { SendResult } from '../contract.ts'
import type { SendEntry, Sending, Shown } from './row.ts'
import type { SendLogWriter } from './send-log-writer.ts'

export interface RecorderParts {
  readonly db: Pick<Database, 'dialect' | 'fork' | 'ping'>
  readonly writer: Pick<SendLogWriter, 'conclude' | 'entryOf' | 'write'>
  readonly clock: Pick<Clock, 'sleep'>
  readonly log: Logger
  /** Counts sends that are not in the table and never will be. */
  readonly countLost: ((rows: number) => void) | undefined
}

/** Rows of one write. */
const largestBatch = 200
/**
 * Characters that may wait for the database, a row being `rowWeight` and its payload; what comes on top is not recorded. That
 * is 50,000 rows of sends that worked: a database that stands still for 20 s at 2,000 sends a second loses none.
 */
export const largestBacklog = 50_000_000
export const rowWeight = 1_000
/** Milliseconds without a write that worked, after which sends wait for their rows no more. */
const patienceMs = 500
/** Rows before a new one at which its send does not wait for it. */
const longestQueue = 20 * largestBatch
/** Milliseconds before the next try, doubled with each, up to the longest. */
const firstPause = 250
const longestPause = 5_000
/** Tries of a row that is refused by a database which answers otherwise. */
const triesOfARow = 3
/** Milliseconds. */
const pingTimeout = 5_000

/**
 * Passes the row of a send to the writer before the message leaves, and again with its outcome. What comes while a write is under
 * way waits in memory and goes with the next one, so that writes grow with the load. A send waits for its row as long as
 * writes work: when none has worked for `patienceMs` the message leaves all the same and its row follows, and while that lasts
 * no other send waits at all. What finds no room in memory is lost, counted, and reported in the log at the beginning and at the end. A write joins
 * no transaction of the sender: rolling that back does not bring the message back. A graceful stop writes what waits; a process
 * that is killed leaves rows that say `sending`, which become `unknown`.
 */
export class SendRecorder {
  readonly #parts: RecorderParts
  /** The async context of the plugin, which is in no transaction. */
  readonly #outside = AsyncLocalStorage.snapshot()
  readonly #closing = new AbortController()
  /** The oldest first, each once. */
  #waiting: SendEntry[] = []
  #weight = 0
  /** Entries that ever waited, and those of them that wait no more. */
  #taken = 0
  #settled = 0
  #writer: Promise<void> | undefined
  /** Tries since the last write that worked. */
  #failures = 0
  /** The database has taken no rows for too long: nobody waits for it. */
  #isBehind = false
  /** Ends when that begins. */
  #fallingBehind = Promise.withResolvers<void>()
  /** Ends the wait for a write that works. */
  #patience: AbortController | undefined
  /** Lost since the log last reported it. */
  #lost = 0
  /** Ends when the next write has ended, well or not. */
  #nextEnd = Promise.withResolvers<void>()

  constructor(parts: RecorderParts) {
    this.#parts = parts
  }

  /** Records that a message is about to leave; resolves when that is in the table, or when it has waited long enough. */
  async begin(channel: string, sending: Sending, shown: Shown): Promise<SendEntry> {
    const entry = this.#parts.writer.entryOf(channel, sending, shown)
    this.#queue(entry)
    const isLong = this.#isBehind || this.#waiting.length > longestQueue
    if (entry.isQueued && !isLong && !this.#isInTransaction()) {
      this.#patience ??= this.#wait()
      await Promise.race([entry.written.promise, this.#fallingBehind.promise])
    }
    return entry
  }

  /** Records a send that ended before anything left. */
  record(channel: string, sending: Sending, shown: Shown, result: SendResult): SendEntry {
    const entry = this.#parts.writer.entryOf(channel, sending, shown)
    this.finish(entry, result)
    return entry
  }

  /** Records what became of a send that was begun, whether its row is written already or not. */
  finish(entry: SendEntry, result: SendResult): void {
    if (entry.isLost) return
    this.#parts.writer.conclude(entry, result)
    this.#queue(entry)
  }

  /** Writes rows as soon as it can, whatever became of earlier tries. */
  writeLater(entries: readonly SendEntry[]): void {
    for (const entry of entries) this.#queue(entry)
  }

  /** Resolves when everything that was recorded before is in the table, or lost, or when a write of it has failed. */
  async written(): Promise<void> {
    const wanted = this.#taken
    while (this.#settled < wanted && this.#failures === 0) await this.#nextEnd.promise
  }

  /** Writes what waits, tries once, and takes no more. */
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
    if (isClosed || this.#weight + weight > largestBacklog) {
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

  /** SQLite has one connection: the writer waits for the transaction of the sender, which waits for the send. */
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

  /** A write has worked. */
  #progress(): void {
    this.#patience?.abort()
    this.#patience = this.#waiting.length > 0 ? this.#wait() : undefined
    if (!this.#isBehind || this.#waiting.length > longestQueue) return
    this.#isBehind = false
    this.#fallingBehind = Promise.withResolvers()
  }

  async #write(): Promise<void> {
    const { clock, log, writer } = this.#parts
    let size = largestBatch
    while (this.#waiting.length > 0) {
      // SQLite answers without leaving the event loop; and the sends of one turn go together.
      await nextTurn()
      const batch = this.#waiting.slice(0, size)
      // Whoever changes an entry from now on queues it again.
      for (const entry of batch) entry.isQueued = false
      const waiters = batch.map(({ written }) => written)
      try {
        await writer.write(batch)
        for (const { resolve } of waiters) resolve()
        this.#forget(batch)
        if (this.#failures > 0) log.info({ waiting: this.#waiting.length }, 'the send log is written again')
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
          const pause = Math.min(longestPause, firstPause * 2 ** (this.#failures - 1))
          await clock.sleep(pause, this.#closing.signal)
        }
      }
    }
    this.#writer = undefined
  }

  async #failed(batch: readonly SendEntry[], error: unknown): Promise<void> {
    const reason = reasonOf(error)
    this.#failures++
    if (this.#closing.signal.aborted) {
      this.#drop(this.#waiting, reason)
      return
    }
    if (this.#failures === 1) {
      this.#parts.log.error({ waiting: this.#waiting.length, reason }, 'the send log cannot be written; trying again')
    }
    if (batch.length === 1 && this.#failures >= triesOfARow && (await this.#answers())) {
      this.#drop(batch, reason)
      return
    }
    // What changed meanwhile waits once: its place is the first one.
    const again = new Set(batch)
    const twice = this.#waiting.slice(batch.length).filter((entry) => again.has(entry))
    this.#settled += twice.length
    this.#waiting = [...batch, ...this.#waiting.slice(batch.length).filter((entry) => !again.has(entry))]
    for (const entry of batch) entry.isQueued = true
  }

  /** Whether the database works, so that it is the row that it does not take. */
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

  /** The log names the first of them, and later how many there were. */
  #lose(entries: readonly SendEntry[], reason: string): void {
    const { log, countLost } = this.#parts
    const [first] = entries
    if (first === undefined) return
    for (const entry of entries) entry.isLost = true
    countLost?.(entries.length)
    if (this.#lost === 0) {
      const { messageId, channel } = first.row
      log.error({ messageId, channel, reason }, 'a send is not in the send log')
    }
    this.#lost += entries.length
  }

  #reportLost(): void {
    if (this.#lost > 1) this.#parts.log.error({ rows: this.#lost }, 'sends are not in the send log')
    this.#lost = 0
  }
}

const weightOf = ({ row }: SendEntry) => rowWeight + (row.payload?.length ?? 0)
