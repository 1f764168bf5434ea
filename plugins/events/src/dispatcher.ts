import { setImmediate } from 'node:timers/promises'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { Deliverer } from './deliverer.ts'
import type { OutboxStore } from './outbox-store.ts'
import type { Hint } from './outbox-writer.ts'

interface DispatcherParts {
  readonly store: OutboxStore
  readonly deliverer: Deliverer
  readonly concurrency: number
  /** Read before each pause. */
  readonly pollIntervalMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/** More hints than this are not kept: a look into the outbox finds their events. */
const mostHints = 10_000

/** A look that takes long is followed by a pause this many times as long. */
const restPerLook = 10

/** Looks that find nothing come less and less often, in the end at this interval unless the configured one is longer. */
const slowestLookMs = 5_000

/** Retries that are due one after another share looks: milliseconds between two of them, unless the interval is shorter. */
const closestLooksMs = 100

/**
 * Finds events that are due and hands them to the deliverer, a few at a time. It learns of events of its own process by
 * hints, goes on with the next event of a key when one is delivered, and finds everything else by looking into the outbox
 * at intervals: events of other processes, retries, leases that ran out.
 */
export class Dispatcher {
  readonly #parts: DispatcherParts
  /** What to try next, in this order, each once. */
  readonly #hints = new Map<string | number, Hint>()
  readonly #running = new Set<Promise<void>>()
  /** Events that this process is delivering. */
  readonly #inWork = new Set<number>()
  /** Events in work that a hint or a look named again. */
  readonly #foundAgain = new Set<number>()
  readonly #ended = new AbortController()
  readonly #givenUp = new AbortController()
  #idlers: (() => void)[] = []
  #alarm = new AbortController()
  /** Looks as soon as there is nothing else to try. */
  #looksNext = true
  /** Looks at this moment of the monotonic clock in any case. */
  #nextLookAt = 0
  /** Looks since anything was found or done. */
  #quietLooks = 0
  /** Something failed, and no look has told since what is left to do. */
  #isUnsure = false
  readonly #looking: FailureLog
  readonly #delivering: FailureLog
  #loop: Promise<void> | undefined

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    this.#looking = new FailureLog(parts.log, {
      failing: 'the outbox cannot be read; trying again',
      over: 'the outbox can be read again',
    })
    this.#delivering = new FailureLog(parts.log, {
      failing: 'what became of an event cannot be written; trying again',
      over: 'what becomes of events can be written again',
    })
  }

  get isRunning(): boolean {
    return this.#loop !== undefined && !this.#ended.signal.aborted
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Tries the event, or the first of the key, as soon as there is room; without a hint looks into the outbox. */
  wake(hint?: Hint): void {
    if (this.#ended.signal.aborted) return
    if (hint !== undefined && this.#hints.size < mostHints) this.#hints.set('key' in hint ? hint.key : hint.id, hint)
    else this.#looksNext = true
    this.#stir()
    this.#alarm.abort()
  }

  /** Resolves when everything that is due now has been tried; at once when it does not run, not while the database fails. */
  async idle(): Promise<void> {
    if (!this.isRunning) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idlers.push(resolve)
    this.wake()
    await promise
  }

  /** Takes no more events and waits for those that run; when the signal aborts, gives them back to other processes. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#ended.abort()
    this.#alarm.abort()
    const giveUp = () => this.#givenUp.abort(new Error('The product stops'))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    await this.#loop
    await Promise.all(this.#running)
  }

  async #run(): Promise<void> {
    const { concurrency, clock } = this.#parts
    while (!this.#ended.signal.aborted) {
      this.#alarm = new AbortController()
      // A process that is never done with its own events still looks for those of others.
      if (clock.monotonic() >= this.#nextLookAt || (this.#looksNext && this.#hints.size === 0)) await this.#look()
      while (this.#running.size < concurrency && !this.#ended.signal.aborted) {
        const hint = this.#nextHint()
        if (hint === undefined) break
        this.#launch(hint)
      }
      if (this.#hints.size === 0) {
        if (this.#looksNext) continue
        if (this.#running.size === 0 && !this.#isUnsure) for (const resolve of this.#idlers.splice(0)) resolve()
      }
      await clock.sleep(Math.max(0, this.#nextLookAt - clock.monotonic()), this.#alarm.signal)
    }
    for (const resolve of this.#idlers.splice(0)) resolve()
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#parts
    // SQLite answers without leaving the event loop: one look after another would keep requests from their turn.
    await setImmediate()
    const begunAt = clock.monotonic()
    this.#looksNext = false
    let nextInMs: number | undefined
    try {
      const found = await store.look()
      for (const id of found.ids) this.#hints.set(id, { id })
      if (found.isMore) this.#looksNext = true
      nextInMs = found.nextInMs
      this.#quietLooks = found.ids.length > 0 || found.isMore ? 0 : this.#quietLooks + 1
      this.#isUnsure = false
      this.#looking.succeeded()
    } catch (error) {
      this.#isUnsure = true
      this.#looking.failed(error)
    }
    const endedAt = clock.monotonic()
    this.#nextLookAt = endedAt + Math.max(this.#pauseMs(nextInMs), restPerLook * (endedAt - begunAt))
  }

  /** @param nextInMs milliseconds until an event is due that waits now */
  #pauseMs(nextInMs = Number.POSITIVE_INFINITY): number {
    const interval = this.#parts.pollIntervalMs()
    const slowed = Math.min(interval * 2 ** Math.max(0, this.#quietLooks - 1), Math.max(interval, slowestLookMs))
    return Math.min(slowed, Math.max(nextInMs, Math.min(closestLooksMs, interval)))
  }

  /** Something happened: more may follow, in other processes too. */
  #stir(): void {
    this.#quietLooks = 0
    this.#nextLookAt = Math.min(this.#nextLookAt, this.#parts.clock.monotonic() + this.#parts.pollIntervalMs())
  }

  #nextHint(): Hint | undefined {
    for (const [name, hint] of this.#hints) {
      this.#hints.delete(name)
      return hint
    }
    return undefined
  }

  #launch(hint: Hint): void {
    const work = this.#deliver(hint)
      .catch((error: unknown) => {
        // The next look comes after a pause, not at once.
        this.#looksNext = false
        this.#isUnsure = true
        this.#delivering.failed(error)
      })
      .finally(() => {
        this.#running.delete(work)
        this.#alarm.abort()
      })
    this.#running.add(work)
  }

  async #deliver(hint: Hint): Promise<void> {
    const { store, deliverer } = this.#parts
    // SQLite answers without leaving the event loop: a long backlog would keep requests and timers from their turn.
    await setImmediate()
    const event = 'key' in hint ? await store.head(hint.key) : await store.load(hint.id)
    if (event === null || !['scheduled', 'pending'].includes(event.status)) return
    // Its lease may seem to have run out, when the clock was moved: it is still being delivered here.
    if (this.#inWork.has(event.id)) {
      this.#foundAgain.add(event.id)
      return
    }
    this.#inWork.add(event.id)
    try {
      const outcome = await deliverer.deliver(event, this.#givenUp.signal)
      this.#stir()
      if (outcome !== 'postponed') this.#delivering.succeeded()
      // The claim may have failed because the event was read before another process tried it. It is due again now.
      else if (this.#foundAgain.has(event.id)) this.wake({ id: event.id })
      if (outcome === 'delivered' && event.streamKey != null) this.wake({ key: event.streamKey })
    } finally {
      this.#inWork.delete(event.id)
      this.#foundAgain.delete(event.id)
    }
  }
}
