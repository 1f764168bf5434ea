import { setImmediate } from 'node:timers/promises'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import { type EventLane, eventLanes } from './contract.ts'
import type { Deliverer } from './deliverer.ts'
import type { OutboxStore } from './outbox-store.ts'
import type { DispatchHint } from './outbox-writer.ts'

interface DispatcherDependencies {
  readonly store: OutboxStore
  readonly deliverer: Deliverer
  /** Maximum number of concurrent deliveries of each lane. */
  readonly slots: Readonly<Record<EventLane, number>>
  /** Returns the current poll interval. Called before each pause. */
  readonly pollIntervalMs: () => number
  readonly clock: Clock
  readonly log: Logger
}

/** Maximum number of stored hints. Polls find the other events. */
const maxHints = 10_000

/** The pause after a poll is at least this many times as long as the poll took. */
const restPerPoll = 10

/** Maximum interval in milliseconds between polls that find nothing, unless the configured interval is longer. */
const maxPollIntervalMs = 5_000

/** Minimum interval in milliseconds between polls for retries, unless the configured interval is shorter. */
const minPollIntervalMs = 100

/**
 * Finds due events and passes a limited number of them of each lane at a time to the deliverer. A hint is an event that this process
 * has just published. After a delivery, the next event of the same key follows. Polls of the outbox find all other
 * events: events of other processes, retries, and expired leases.
 */
export class Dispatcher {
  readonly #parts: DispatcherDependencies
  /** Events of this process and events that a poll found, by lane in the order of their attempts. */
  readonly #hints: Readonly<Record<EventLane, Map<string | number, DispatchHint>>> = {
    database: new Map(),
    network: new Map(),
  }
  readonly #running: Readonly<Record<EventLane, Set<Promise<void>>>> = { database: new Set(), network: new Set() }
  readonly #inWork = new Set<number>()
  /** Ids of events that a hint or poll found while they are being delivered. */
  readonly #foundAgain = new Set<number>()
  readonly #ended = new AbortController()
  readonly #givenUp = new AbortController()
  #idlers: (() => void)[] = []
  #alarm = new AbortController()
  /** True if the outbox is polled when no hints remain. */
  #looksNext = true
  /** Monotonic time at which the outbox is polled even if hints remain. */
  #nextLookAt = 0
  #quietLooks = 0
  /** True after an error, until a poll succeeds. */
  #isUnsure = false
  readonly #looking: RepeatedFailureLog
  readonly #delivering: RepeatedFailureLog
  #loop: Promise<void> | undefined

  constructor(parts: DispatcherDependencies) {
    this.#parts = parts
    this.#looking = new RepeatedFailureLog(parts.log, {
      failing: 'the outbox cannot be read; trying again',
      over: 'the outbox can be read again',
    })
    this.#delivering = new RepeatedFailureLog(parts.log, {
      failing: 'the outcome of a delivery cannot be written; trying again',
      over: 'outcomes of deliveries can be written again',
    })
  }

  get isRunning(): boolean {
    return this.#loop !== undefined && !this.#ended.signal.aborted
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /**
   * Attempts the event of the hint, or the first event of its key, as soon as possible. Without a hint, polls the
   * outbox.
   */
  wake(hint?: DispatchHint): void {
    if (this.#ended.signal.aborted) return
    if (hint !== undefined && this.#hints[hint.lane].size < maxHints) this.#queue(hint)
    else this.#looksNext = true
    this.#stir()
    this.#alarm.abort()
  }

  /**
   * Resolves when every due event has been attempted, or immediately if the dispatcher is not running. Does not resolve
   * while the database fails.
   */
  async idle(): Promise<void> {
    if (!this.isRunning) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idlers.push(resolve)
    this.wake()
    await promise
  }

  /**
   * Starts no more deliveries and waits for the current ones. When the signal aborts, releases their events to other
   * processes.
   */
  async drain(signal: AbortSignal): Promise<void> {
    this.#ended.abort()
    this.#alarm.abort()
    const giveUp = () => this.#givenUp.abort(new Error('The product stops'))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    await this.#loop
    await Promise.all(eventLanes.flatMap((lane) => [...this.#running[lane]]))
  }

  async #run(): Promise<void> {
    const { slots, clock } = this.#parts
    while (!this.#ended.signal.aborted) {
      this.#alarm = new AbortController()
      // Polls even if there are always hints, because other processes may have published events.
      if (clock.monotonic() >= this.#nextLookAt || (this.#looksNext && isEmpty(this.#hints))) await this.#look()
      for (const lane of eventLanes) {
        while (this.#running[lane].size < slots[lane] && !this.#ended.signal.aborted) {
          const hint = this.#nextHint(lane)
          if (hint === undefined) break
          this.#launch(hint)
        }
      }
      if (isEmpty(this.#hints)) {
        if (this.#looksNext) continue
        if (isEmpty(this.#running) && !this.#isUnsure) for (const resolve of this.#idlers.splice(0)) resolve()
      }
      await clock.sleep(Math.max(0, this.#nextLookAt - clock.monotonic()), this.#alarm.signal)
    }
    for (const resolve of this.#idlers.splice(0)) resolve()
  }

  async #look(): Promise<void> {
    const { store, clock } = this.#parts
    // SQLite blocks the event loop, so several polls in a row would delay requests.
    await setImmediate()
    const begunAt = clock.monotonic()
    this.#looksNext = false
    let nextInMs: number | undefined
    try {
      const found = await store.look()
      for (const event of found.events) this.#queue(event)
      if (found.isMore) this.#looksNext = true
      nextInMs = found.nextInMs
      this.#quietLooks = found.events.length > 0 || found.isMore ? 0 : this.#quietLooks + 1
      this.#isUnsure = false
      this.#looking.succeeded()
    } catch (error) {
      this.#isUnsure = true
      this.#looking.failed(error)
    }
    const endedAt = clock.monotonic()
    this.#nextLookAt = endedAt + Math.max(this.#pauseMs(nextInMs), restPerPoll * (endedAt - begunAt))
  }

  /** @param nextInMs milliseconds until the next known event is due */
  #pauseMs(nextInMs = Number.POSITIVE_INFINITY): number {
    const interval = this.#parts.pollIntervalMs()
    const slowed = Math.min(interval * 2 ** Math.max(0, this.#quietLooks - 1), Math.max(interval, maxPollIntervalMs))
    return Math.min(slowed, Math.max(nextInMs, Math.min(minPollIntervalMs, interval)))
  }

  /** Polls soon, because after some activity more events often follow, also from other processes. */
  #stir(): void {
    this.#quietLooks = 0
    this.#nextLookAt = Math.min(this.#nextLookAt, this.#parts.clock.monotonic() + this.#parts.pollIntervalMs())
  }

  #queue(hint: DispatchHint): void {
    this.#hints[hint.lane].set('key' in hint ? hint.key : hint.id, hint)
  }

  #nextHint(lane: EventLane): DispatchHint | undefined {
    for (const [name, hint] of this.#hints[lane]) {
      this.#hints[lane].delete(name)
      return hint
    }
    return undefined
  }

  #launch(hint: DispatchHint): void {
    const work = this.#deliver(hint)
      .catch((error: unknown) => {
        // After an error, the outbox is not polled again before the regular pause ends.
        this.#looksNext = false
        this.#isUnsure = true
        this.#delivering.failed(error)
      })
      .finally(() => {
        this.#running[hint.lane].delete(work)
        this.#alarm.abort()
      })
    this.#running[hint.lane].add(work)
  }

  async #deliver(hint: DispatchHint): Promise<void> {
    const { store, deliverer } = this.#parts
    // SQLite blocks the event loop, so a long backlog would delay requests and timers.
    await setImmediate()
    const event = 'key' in hint ? await store.head(hint.key) : await store.load(hint.id)
    if (event === null || !['scheduled', 'pending'].includes(event.status)) return
    // The first event of a key, or an event that was handed over, may belong to another lane.
    if (event.lane !== hint.lane) {
      this.wake({ id: event.id, lane: event.lane })
      return
    }
    // If the clock was changed, the lease can seem expired although this process still delivers the event.
    if (this.#inWork.has(event.id)) {
      this.#foundAgain.add(event.id)
      return
    }
    this.#inWork.add(event.id)
    try {
      const outcome = await deliverer.deliver(event, this.#givenUp.signal)
      this.#stir()
      if (outcome === 'handed-over')
        this.wake({ id: event.id, lane: event.lane === 'database' ? 'network' : 'database' })
      if (outcome !== 'postponed') this.#delivering.succeeded()
      // Another process may have attempted the event after this process read it. The event may be due again now.
      else if (this.#foundAgain.has(event.id)) this.wake({ id: event.id, lane: event.lane })
      const isLast = outcome === 'delivered' || outcome === 'failed'
      if (isLast && event.streamKey != null) this.wake({ key: event.streamKey, lane: event.lane })
    } finally {
      this.#inWork.delete(event.id)
      this.#foundAgain.delete(event.id)
    }
  }
}

const isEmpty = (byLane: Readonly<Record<EventLane, { readonly size: number }>>): boolean =>
  eventLanes.every((lane) => byLane[lane].size === 0)
