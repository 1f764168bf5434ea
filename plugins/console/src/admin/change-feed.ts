import { randomUUID } from 'node:crypto'
import type { Database } from '@plinth/database'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { Publications } from './publications.ts'

/** Collects names and hands them on together, some time after the first: however many come, one call in that time. */
class MergedNames {
  readonly #waitMs: number
  readonly #clock: Pick<Clock, 'sleep'>
  readonly #hand: (names: readonly string[]) => void
  readonly #stopped = new AbortController()
  #names = new Set<string>()

  constructor(waitMs: number, clock: Pick<Clock, 'sleep'>, hand: (names: readonly string[]) => void) {
    this.#waitMs = waitMs
    this.#clock = clock
    this.#hand = hand
  }

  add(name: string): void {
    if (this.#stopped.signal.aborted) return
    this.#names.add(name)
    if (this.#names.size === 1) void this.#handLater()
  }

  /** What waits is forgotten. */
  stop(): void {
    this.#stopped.abort()
  }

  async #handLater(): Promise<void> {
    const { signal } = this.#stopped
    await this.#clock.sleep(this.#waitMs, signal)
    const names = [...this.#names]
    this.#names = new Set()
    if (!signal.aborted) this.#hand(names)
  }
}

interface ChangeFeedParts {
  readonly db: Pick<Database, 'onWritten'>
  /** Absent where a product is one process. */
  readonly store: Pick<SharedStore, 'publish' | 'subscribe'> | undefined
  /** Hears of tables that were written to, by whichever process; not of each write. */
  readonly tell: (tables: readonly string[]) => void
  readonly clock: Clock
  readonly log: Logger
}

/** What instances say to each other: somebody looks here, or these tables were written to. */
type Message = { readonly from: string } & ({ readonly looks: true } | { readonly tables: readonly string[] })

const channel = 'console.changes'
/** Milliseconds in which changes are merged before other instances are told, and before people are. */
const publishMs = 500
const tellMs = 1_000
/** Who has people looking says so at least this often, milliseconds. */
const looksMs = 30_000
/** So long the others tell of their changes, milliseconds. */
const wantedMs = 75_000
/** That somebody looks may be heard so much later, milliseconds: what was written meanwhile is told then. */
const lateMs = 10_000

/**
 * Which tables were written to, here and in the other processes of the product. Others are told only while people look
 * somewhere else: where nobody does, nothing is sent. What gets lost is seen when a page asks again by itself.
 */
export class ChangeFeed {
  readonly #parts: ChangeFeedParts
  readonly #own = randomUUID()
  readonly #failures: FailureLog
  readonly #toPeople: MergedNames
  readonly #toOthers: MergedNames
  readonly #others: Publications<Message>
  #tables: ReadonlySet<string> = new Set()
  /** On the monotonic clock. */
  #wantedUntil = Number.NEGATIVE_INFINITY
  #looksAt = Number.NEGATIVE_INFINITY
  /** Tables by the time of their last change here. */
  readonly #writtenAt = new Map<string, number>()
  #stops: readonly (() => void | Promise<void>)[] = []

  constructor(parts: ChangeFeedParts) {
    const { clock, log, tell } = parts
    this.#parts = parts
    this.#toPeople = new MergedNames(tellMs, clock, tell)
    this.#toOthers = new MergedNames(publishMs, clock, (tables) => this.#others.send({ from: this.#own, tables }))
    this.#failures = new FailureLog(log, {
      failing: 'changes do not reach the back office of other instances at once',
      over: 'changes reach the back office of other instances again',
    })
    this.#others = new Publications({ store: parts.store, channel, failures: this.#failures })
  }

  /**
   * Follows these tables.
   *
   * @param hears whether this process lives on and needs to know what others write and who looks; a command tells what it writes
   */
  async start(tables: Iterable<string>, hears = true): Promise<void> {
    const { db, store, clock } = this.#parts
    // Who looks already says so again within this time.
    this.#wantedUntil = clock.monotonic() + wantedMs
    this.#tables = new Set(tables)
    this.#stops = [db.onWritten(this.#tables, (table) => this.#written(table))]
    if (!hears) return
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

  /** Somebody looks at this instance; to be called again as long as that is so. */
  wanted(): void {
    const now = this.#parts.clock.monotonic()
    if (now - this.#looksAt < looksMs) return
    this.#looksAt = now
    this.#others.send({ from: this.#own, looks: true })
  }

  async stop(): Promise<void> {
    this.#toPeople.stop()
    this.#toOthers.stop()
    for (const stop of this.#stops)
      await Promise.resolve(stop()).catch((error: unknown) => this.#failures.failed(error))
    await this.#others.sent()
  }

  #written(...tables: readonly string[]): void {
    const now = this.#parts.clock.monotonic()
    for (const table of tables) {
      this.#writtenAt.set(table, now)
      this.#toPeople.add(table)
      if (now < this.#wantedUntil) this.#toOthers.add(table)
    }
  }

  #hear(message: Message): void {
    if (message.from === this.#own) return
    if ('looks' in message) this.#isLookedAt()
    else for (const table of message.tables) if (this.#tables.has(table)) this.#toPeople.add(table)
  }

  #isLookedAt(): void {
    const now = this.#parts.clock.monotonic()
    if (now >= this.#wantedUntil)
      for (const [table, at] of this.#writtenAt) if (now - at < lateMs) this.#toOthers.add(table)
    this.#wantedUntil = now + wantedMs
  }
}
