import { randomUUID } from 'node:crypto'
import type { Database } from '@plinth/database'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { Publications } from './publications.ts'

/**
 * Collects table names and passes them on together. The wait starts with the first name, and there is at most one call
 * per wait.
 */
class MergedNames {
  readonly #waitMs: number
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #report: (names: readonly string[]) => void
  readonly #stopped = new AbortController()
  #names = new Set<string>()

  constructor(waitMs: number, clock: Pick<Clock, 'sleep'>, report: (names: readonly string[]) => void) {
    this.#waitMs = waitMs
    this.#clock = clock
    this.#report = report
  }

  add(name: string): void {
    if (this.#stopped.signal.aborted) return
    this.#names.add(name)
    if (this.#names.size === 1) void this.#reportLater()
  }

  /** Discards names that were not reported yet. */
  stop(): void {
    this.#stopped.abort()
  }

  async #reportLater(): Promise<void> {
    const { signal } = this.#stopped
    await this.#clock.sleep(this.#waitMs, signal)
    const names = [...this.#names]
    this.#names = new Set()
    if (!signal.aborted) this.#report(names)
  }
}

interface ChangeFeedDependencies {
  readonly db: Pick<Database, 'onWritten'>
  /** The shared store; `undefined` in a product with a single process. */
  readonly store: Pick<SharedStore, 'publish' | 'subscribe'> | undefined
  /** Called with the tables to which any process has written. Several writes are reported in one call. */
  readonly tell: (tables: readonly string[]) => void
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Message between instances. `looks` means that a user has an open page; `tables` lists tables that were written to.
 */
type Message = { readonly from: string } & ({ readonly looks: true } | { readonly tables: readonly string[] })

const channel = 'console.changes'
/**
 * Milliseconds during which changes are collected before other instances (`publishMs`) and browsers (`tellMs`) are
 * notified.
 */
const publishMs = 500
const tellMs = 1_000
/** Interval in milliseconds at which an instance announces that it has open pages. */
const announceMs = 30_000
/** Milliseconds after an announcement of open pages during which other instances report their changes. */
const reportPeriodMs = 75_000
/**
 * Milliseconds by which an announcement of open pages may be late. The changes of this period before the announcement
 * are reported too.
 */
const lateMs = 10_000

/**
 * Reports the tables to which this process and other processes of the product have written. An instance sends its
 * changes only while another instance has open pages. Lost messages are tolerated, because pages also poll.
 */
export class ChangeFeed {
  readonly #parts: ChangeFeedDependencies
  readonly #own = randomUUID()
  readonly #failures: RepeatedFailureLog
  readonly #toBrowsers: MergedNames
  readonly #toOthers: MergedNames
  readonly #others: Publications<Message>
  #tables: ReadonlySet<string> = new Set()
  /** Monotonic time until which this instance reports its changes to other instances. */
  #reportsUntil = Number.NEGATIVE_INFINITY
  #announcedAt = Number.NEGATIVE_INFINITY
  /** Time of the last local change by table. */
  readonly #writtenAt = new Map<string, number>()
  #stops: readonly (() => void | Promise<void>)[] = []

  constructor(parts: ChangeFeedDependencies) {
    const { clock, log, tell } = parts
    this.#parts = parts
    this.#toBrowsers = new MergedNames(tellMs, clock, tell)
    this.#toOthers = new MergedNames(publishMs, clock, (tables) => this.#others.send({ from: this.#own, tables }))
    this.#failures = new RepeatedFailureLog(log, {
      failing: 'changes do not reach the back office of other instances at once',
      over: 'changes reach the back office of other instances again',
    })
    this.#others = new Publications({ store: parts.store, channel, failures: this.#failures })
  }

  /**
   * Starts to watch these tables.
   * @param receives true for a process that also needs the changes and messages of other processes; false for a
   *   command, which only sends its changes
   */
  async start(tables: Iterable<string>, receives = true): Promise<void> {
    const { db, store, clock } = this.#parts
    // After a start, assume that another instance has open pages. Otherwise changes before its next announcement would
    // be lost.
    this.#reportsUntil = clock.monotonic() + reportPeriodMs
    this.#tables = new Set(tables)
    this.#stops = [db.onWritten(this.#tables, (table) => this.#written(table))]
    if (!receives) return
    try {
      const stop = await store?.subscribe(
        channel,
        (text) => this.#hear(JSON.parse(text)),
        () => this.#written(...this.#tables),
      )
      if (stop !== undefined) this.#stops = [...this.#stops, stop]
    } catch (error) {
      this.#failures.failed(error)
    }
  }

  /** Announces that a page is open on this instance. The caller repeats this call as long as a page is open. */
  wanted(): void {
    const now = this.#parts.clock.monotonic()
    if (now - this.#announcedAt < announceMs) return
    this.#announcedAt = now
    this.#others.send({ from: this.#own, looks: true })
  }

  async stop(): Promise<void> {
    this.#toBrowsers.stop()
    this.#toOthers.stop()
    for (const stop of this.#stops)
      await Promise.resolve(stop()).catch((error: unknown) => this.#failures.failed(error))
    await this.#others.sent()
  }

  #written(...tables: readonly string[]): void {
    const now = this.#parts.clock.monotonic()
    for (const table of tables) {
      this.#writtenAt.set(table, now)
      this.#toBrowsers.add(table)
      if (now < this.#reportsUntil) this.#toOthers.add(table)
    }
  }

  #hear(message: Message): void {
    if (message.from === this.#own) return
    if ('looks' in message) this.#startReporting()
    else for (const table of message.tables) if (this.#tables.has(table)) this.#toBrowsers.add(table)
  }

  #startReporting(): void {
    const now = this.#parts.clock.monotonic()
    if (now >= this.#reportsUntil)
      for (const [table, at] of this.#writtenAt) if (now - at < lateMs) this.#toOthers.add(table)
    this.#reportsUntil = now + reportPeriodMs
  }
}
