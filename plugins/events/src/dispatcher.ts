import { setImmediate } from 'node:timers/promises'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import { type EventLane, eventLanes } from './contract.ts'
import type { Deliverer, Outcome } from './deliverer.ts'
import type { EventRow } from './entities.ts'
import type { OutboxStore } from './outbox-store.ts'
import type { DispatchHint } from './outbox-writer.ts'

interface DispatcherDependencies {
  readonly store: OutboxStore
  readonly deliverer: Deliverer
  /** Maximum number of concurrent batches of the lane `database`, and of concurrent events of the lane `network`. */
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

/** A hint of an event that was attempted before. It may end the process, so it is not claimed together with others. */
type QueuedHint = DispatchHint & { readonly isAlone?: boolean }

/**
 * Finds due events and passes a limited number of them of each lane at a time to the deliverer. A hint is an event that this process
 * has just published. After a delivery, the next events of the same key follow. Polls of the outbox find all other
 * events: events of other processes, retries, and expired leases.
 */
export class Dispatcher {
  readonly #parts: DispatcherDependencies
  /** Events of this process and events that a poll found, by lane in the order of their attempts. */
  readonly #hints: Readonly<Record<EventLane, Map<string | number, QueuedHint>>> = {
    database: new Map(),
    network: new Map(),
  }
  readonly #usedSlots: Record<EventLane, number> = { database: 0, network: 0 }
  readonly #running = new Set<Promise<void>>()
  /** Keys, and ids of events without a key, that are being delivered. */
  readonly #inWork = new Set<string | number>()
  /** Keys and ids that a hint or poll found while they are being delivered. */
  readonly #foundAgain = new Set<string | number>()
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

  /** True if more events of the lane are known than this process has slots. */
  isBusy(lane: EventLane): boolean {
    return this.#usedSlots[lane] + this.#hints[lane].size > this.#parts.slots[lane]
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
    await Promise.all(this.#running)
  }

  async #run(): Promise<void> {
    const { slots, clock } = this.#parts
    while (!this.#ended.signal.aborted) {
      this.#alarm = new AbortController()
      // Polls even if there are always hints, because other processes may have published events.
      if (clock.monotonic() >= this.#nextLookAt || (this.#looksNext && isEmpty(this.#hints))) await this.#look()
      // Slots that become free together are used for one claim. SQLite blocks the event loop, so a long backlog would
      // delay requests and timers.
      if (!isEmpty(this.#hints)) await setImmediate()
      for (const lane of eventLanes) {
        while (this.#usedSlots[lane] < slots[lane] && !this.#ended.signal.aborted) {
          const hints = this.#nextHints(lane)
          if (hints.length === 0) break
          this.#launch(lane, hints)
        }
      }
      if (isEmpty(this.#hints)) {
        if (this.#looksNext) continue
        if (this.#running.size === 0 && !this.#isUnsure) for (const resolve of this.#idlers.splice(0)) resolve()
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

  #queue(hint: QueuedHint): void {
    this.#hints[hint.lane].set('key' in hint ? hint.key : hint.id, hint)
  }

  /** Takes hints for one claim. All free slots get an equal part, so that few events are delivered at the same time. */
  #nextHints(lane: EventLane): readonly QueuedHint[] {
    const { slots, deliverer } = this.#parts
    const hints = this.#hints[lane]
    const free = slots[lane] - this.#usedSlots[lane]
    const size = lane === 'network' ? free : Math.min(deliverer.batchSize, Math.ceil(hints.size / free))
    const taken: QueuedHint[] = []
    for (const [name, hint] of hints) {
      if (taken.length >= size || (hint.isAlone === true && taken.length > 0)) break
      hints.delete(name)
      taken.push(hint)
      if (hint.isAlone === true) break
    }
    return taken
  }

  /** In the lane `database` a batch uses one slot. In the lane `network` each event uses one. */
  #launch(lane: EventLane, hints: readonly QueuedHint[]): void {
    let used = lane === 'network' ? hints.length : 1
    this.#usedSlots[lane] += used
    const free = (count: number) => {
      used -= count
      this.#usedSlots[lane] -= count
      this.#alarm.abort()
    }
    const work = this.#deliver(lane, hints, (count) => lane === 'network' && free(count))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#running.delete(work)
        free(used)
      })
    this.#running.add(work)
  }

  /** After an error, the outbox is not polled again before the regular pause ends. */
  #fail(error: unknown): void {
    this.#looksNext = false
    this.#isUnsure = true
    this.#delivering.failed(error)
  }

  /** @param free called with the number of hints whose events have ended or are not delivered now */
  async #deliver(lane: EventLane, hints: readonly QueuedHint[], free: (count: number) => void): Promise<void> {
    const { store, deliverer } = this.#parts
    const perKey = lane === 'network' ? 1 : 2 ** Math.floor(Math.log2(deliverer.batchSize / hints.length))
    const found = (await store.read(hints, Math.max(1, perKey))).flatMap(unitOf)
    const units = found.filter(({ first, name }) => {
      // The first event of a key, or an event that was handed over, may belong to another lane.
      if (first.lane !== lane) this.wake(hintOf(first))
      // If the clock was changed, the lease can seem expired although this process still delivers the event.
      else if (this.#inWork.has(name)) this.#foundAgain.add(name)
      else return true
      return false
    })
    const isFirstAlone = units[0]?.isAlone === true
    const chosen = isFirstAlone ? units.slice(0, 1) : units.filter(({ isAlone }) => !isAlone)
    for (const unit of units) if (!chosen.includes(unit)) this.#queue({ ...hintOf(unit.first), isAlone: unit.isAlone })
    free(hints.length - chosen.length)
    for (const { name } of chosen) this.#inWork.add(name)
    const events = chosen.flatMap(({ run }) => run)
    const outcomes = deliverer.deliver(events, this.#givenUp.signal)
    const outcomeOf = new Map(events.map((event, place) => [event, outcomes[place]]))
    await Promise.all(
      chosen.map(async (unit) => {
        this.#conclude(unit, await Promise.allSettled(unit.run.map((event) => outcomeOf.get(event))))
        free(1)
      }),
    )
  }

  #conclude({ first, name }: Unit, results: readonly PromiseSettledResult<Outcome | undefined>[]): void {
    const wasFound = this.#foundAgain.delete(name)
    this.#inWork.delete(name)
    this.#stir()
    for (const result of results) if (result.status === 'rejected') this.#fail(result.reason)
    const outcomes = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined))
    const last = outcomes.at(-1)
    const isFinished = outcomes.some((outcome) => outcome === 'delivered' || outcome === 'failed')
    if (isFinished || outcomes.includes('retried') || outcomes.includes('handed-over')) this.#delivering.succeeded()
    if (outcomes.includes('handed-over')) {
      this.wake({ ...hintOf(first), lane: first.lane === 'database' ? 'network' : 'database' })
    } else if (
      last === 'released' ||
      (first.streamKey != null && isFinished) ||
      // Another process may have attempted the event after this process read it. The event may be due again now.
      (last === 'postponed' && wasFound)
    ) {
      this.wake(hintOf(first))
    }
  }
}

/** Events that one hint has found: one event without a key, or the first events of a key. */
interface Unit {
  readonly name: string | number
  readonly first: EventRow
  readonly run: readonly EventRow[]
  readonly isAlone: boolean
}

const isOpen = ({ status }: EventRow) => status === 'scheduled' || status === 'pending'

function unitOf(events: readonly EventRow[]): Unit[] {
  const [first] = events
  if (first === undefined || !isOpen(first)) return []
  const isAlone = first.attempts > 0
  const end = events.findIndex((event) => !isOpen(event) || event.attempts > 0 || event.lane !== first.lane)
  const run = isAlone ? [first] : events.slice(0, end < 0 ? undefined : end)
  return [{ name: first.streamKey ?? first.id, first, run, isAlone }]
}

const hintOf = ({ id, streamKey, lane }: EventRow): DispatchHint =>
  streamKey == null ? { id, lane } : { key: streamKey, lane }

const isEmpty = (byLane: Readonly<Record<EventLane, { readonly size: number }>>): boolean =>
  eventLanes.every((lane) => byLane[lane].size === 0)
