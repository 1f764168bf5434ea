import { setImmediate } from 'node:timers/promises'
import {
  type ClockReading,
  LeaseLostError,
  type LeaseRenewal,
  readClocks,
  startLeaseRenewal,
} from '@plinth/coordination'
import type { Database } from '@plinth/database'
import {
  type Clock,
  errorReason,
  fitTextToColumn,
  inSpan,
  type Logger,
  RepeatedFailureLog,
  type Span,
  type SpanOptions,
  type Tracer,
} from '@plinth/kernel'
import { type EventLane, type EventRef, outboxDeliveryFailed, type PublishOptions } from './contract.ts'
import type { EventRow } from './entities.ts'
import { type BoundHandler, type HandlerRegistry, laneOf } from './handler-registry.ts'
import type { DeliveryClaim, OutboxStore } from './outbox-store.ts'

/** Maximum number of events that are claimed together. */
const maxBatch = 32
/** Milliseconds after which the events of a batch that have not begun are released to other slots and processes. */
const maxBatchMs = 100
/** Milliseconds after which no further event joins a transaction. On SQLite, other statements wait for its end. */
const maxSharedMs = 10
/** Timeout in milliseconds of a shared transaction. The events of a slower one are delivered alone. */
const sharedDeadlineMs = 1_000

interface BackoffSettings {
  /** Delay before the first retry in milliseconds. */
  readonly initialDelayMs: number
  /** Maximum delay before a retry in milliseconds. */
  readonly maxDelayMs: number
}

/**
 * Returns the delay in milliseconds after a failed attempt (1 is the first). The delay doubles each time up to the
 * maximum. Half of it is random, so that events that failed together are not retried together.
 */
export function retryDelay(attempt: number, settings: BackoffSettings, random: () => number): number {
  const full = Math.min(settings.maxDelayMs, settings.initialDelayMs * 2 ** (attempt - 1))
  return Math.round(full / 2 + (random() * full) / 2)
}

export interface DeliverySettings extends BackoffSettings {
  readonly leaseMs: number
  readonly handlerDeadlineMs: number
  readonly maxAttempts: number
}

/**
 * `postponed`: not delivered, because the product stops, another process delivers the event, or a handler asked for a
 * delay. `released`: not attempted, and still due. `handed-over`: the handlers of another lane follow.
 */
export type Outcome = 'delivered' | 'retried' | 'failed' | 'postponed' | 'released' | 'handed-over'

interface DelivererDependencies {
  readonly db: Database
  readonly store: OutboxStore
  readonly handlers: HandlerRegistry
  readonly publish: <T>(ref: EventRef<T>, payload: T, options: PublishOptions) => Promise<number>
  readonly settings: () => DeliverySettings
  readonly redact: (text: string) => string
  readonly count: (type: string, outcome: Outcome) => void
  readonly random: () => number
  readonly clock: Clock
  readonly log: Logger
  readonly tracer?: Tracer | undefined
}

/** Events that were claimed together. */
interface Batch {
  readonly settings: DeliverySettings
  readonly stop: AbortSignal
  readonly lease: LeaseRenewal
  /** Finishes an event, together with other events of the batch that end at the same time. */
  readonly finish: (claim: DeliveryClaim) => Promise<void>
}

interface Work {
  readonly event: EventRow
  readonly claim: DeliveryClaim
  /** Handlers that are not done. */
  readonly open: readonly BoundHandler[]
  /** Aborts if the lease of this event is lost while those of others are not. */
  readonly lost: AbortController
  readonly ended: PromiseWithResolvers<Outcome>
  /** True after the event failed in a shared transaction. */
  isAlone: boolean
}

interface Calls {
  /** True if the lane had handlers to call. */
  readonly hasCalled: boolean
  readonly failures: readonly string[]
  /** Lane of the first handler that is not done. Undefined if all handlers are done. */
  readonly nextLane: EventLane | undefined
  /** Delay in milliseconds that a handler asked for. */
  readonly postponedMs: number | undefined
}

const maxReasonLength = 500
/** A delivery that begins later than this after its event, in milliseconds, is a trace of its own. */
const maxTraceAgeMs = 300_000

/** Compares the name instead of the class, because another copy of this package may have created the error. */
const postponedMsOf = (error: unknown): number | undefined => {
  const { name, delayMs } = Object(error)
  return name === 'PostponedDelivery' && Number.isFinite(delayMs) ? Math.max(0, Math.ceil(delayMs)) : undefined
}

export class Deliverer {
  readonly #parts: DelivererDependencies
  /** Number of consecutive failures for each event type. */
  readonly #failing = new Map<string, number>()
  #batchSize = maxBatch

  constructor(parts: DelivererDependencies) {
    this.#parts = parts
  }

  /** Number of events that are claimed together in the lane `database`. Smaller while batches take too long. */
  get batchSize(): number {
    return this.#batchSize
  }

  /**
   * Claims events and delivers those that are still due. Returns the outcome of each. Events of the lane `database` are
   * delivered one after another, those of the lane `network` at the same time.
   *
   * @param events see `OutboxStore.claim`
   * @param stop aborts the deliveries and releases the events
   * @returns promises that reject with database errors; such an event is due again when its lease has expired
   */
  deliver(events: readonly EventRow[], stop: AbortSignal): readonly Promise<Outcome>[] {
    const ended = events.map(() => Promise.withResolvers<Outcome>())
    this.#deliver(events, ended, stop).catch((error: unknown) => {
      for (const { reject } of ended) reject(error)
    })
    return ended.map(({ promise }) => promise)
  }

  async #deliver(events: readonly EventRow[], ended: readonly Work['ended'][], stop: AbortSignal): Promise<void> {
    const { store, handlers, clock } = this.#parts
    const settings = this.#parts.settings()
    const claimedAt = readClocks(clock)
    const elsewhere = new Set<string | null | undefined>()
    const first = events.filter(({ type, lane, streamKey }) => {
      if (elsewhere.has(streamKey)) return false
      // Later events of the key wait until the handlers of the other lane are done.
      if (streamKey != null && handlers.of(type).some((handler) => handler.lane !== lane)) elsewhere.add(streamKey)
      return true
    })
    const claims = await store.claim(first, settings.leaseMs)
    const claimOf = new Map(claims.map((claim) => [claim.id, claim]))
    const heldKeys = new Set(claims.map(({ key }) => key))
    for (const [place, event] of events.entries()) {
      if (claimOf.has(event.id)) continue
      // If no event of the key was claimed, its first event is not due, so none is attempted again at once.
      const isNext = !first.includes(event) && heldKeys.has(event.streamKey ?? null)
      ended[place]?.resolve(isNext ? 'released' : 'postponed')
    }
    if (claims.length === 0) return
    // Read in each attempt, because a released or replayed event may already have some.
    const handled = await store.handled(claims)
    const works = events.flatMap((event, place): Work[] => {
      const [claim, end] = [claimOf.get(event.id), ended[place]]
      if (claim === undefined || end === undefined) return []
      const open = handlers.of(event.type).filter(({ name }) => handled.get(event.id)?.has(name) !== true)
      return [{ event, claim, open, lost: new AbortController(), ended: end, isAlone: false }]
    })
    const lease = this.#keepLease(works, settings.leaseMs, claimedAt)
    const batch: Batch = { settings, stop, lease, finish: finishTogether(store) }
    try {
      if (events[0]?.lane === 'database') await this.#inTurn(works, batch)
      else await Promise.all(works.map((work) => this.#alone(work, batch)))
    } finally {
      lease.end()
    }
  }

  /** Delivers events one after another. A slow one holds the others for a short time only. */
  async #inTurn(works: readonly Work[], batch: Batch): Promise<void> {
    const { clock } = this.#parts
    const waiting = [...works]
    const over = new AbortController()
    let isLate = false
    const limit = clock.sleep(maxBatchMs, over.signal).then(async () => {
      isLate = !over.signal.aborted
      if (isLate) await this.#release(waiting.splice(0))
    })
    let delivered = 0
    while (waiting.length > 0 && !(isLate && delivered > 0)) {
      // SQLite blocks the event loop, so a long backlog would delay requests and timers.
      await setImmediate()
      if (batch.stop.aborted) break
      const alone = waiting.findIndex((work) => !isShareable(work))
      const shared = waiting.splice(0, alone < 0 ? waiting.length : alone)
      if (shared.length > 1) {
        const rest = await this.#share(shared, batch)
        waiting.unshift(...rest)
        delivered += shared.length - rest.length
        continue
      }
      const [work = waiting.shift()] = shared
      if (work === undefined) break
      const outcome = await this.#alone(work, batch)
      delivered += 1
      const { key } = work.claim
      if (outcome === 'delivered' || key === null) continue
      const behind = waiting.filter(({ claim }) => claim.key === key)
      for (const one of behind) waiting.splice(waiting.indexOf(one), 1)
      await this.#release(behind)
    }
    over.abort()
    await limit
    await this.#release(waiting)
    const isTroubled = isLate || works.filter(({ isAlone }) => isAlone).length > 1
    if (isTroubled) this.#batchSize = Math.max(1, this.#batchSize / 2)
    else if (works.length >= this.#batchSize / 2) this.#batchSize = Math.min(maxBatch, this.#batchSize * 2)
  }

  /**
   * Delivers events in one transaction, which saves their commits. If one fails, all are rolled back. Returns the events
   * that are not delivered. Those that may fail again are marked, so that they do not roll back others.
   */
  async #share(works: readonly Work[], { stop, lease, settings }: Batch): Promise<readonly Work[]> {
    const { db, store, clock } = this.#parts
    const done: Work[] = []
    let current: Work | undefined
    let isRepeated = false
    try {
      await lease.confirm()
      const signal = AbortSignal.any([stop, lease.lost])
      const timeoutMs = Math.min(settings.handlerDeadlineMs, sharedDeadlineMs)
      const work = async (em: { flush(): Promise<void>; clear(): void }, over: AbortSignal) => {
        // After a conflict with other transactions, short transactions are more likely to succeed.
        if (isRepeated) throw new Error('The shared transaction has conflicts')
        isRepeated = true
        const begunAt = clock.monotonic()
        // The next handler must see the writes of this one, but not its entities.
        const settle = async () => {
          await em.flush()
          em.clear()
        }
        const either = AbortSignal.any([signal, over])
        for (current of works) {
          await this.#callAll(current, either, settings, settle)
          done.push(current)
          if (clock.monotonic() - begunAt >= maxSharedMs) break
        }
        current = undefined
        await store.finish(done.map(({ claim }) => claim))
      }
      await db.transactional(work, { timeoutMs, signal })
    } catch {
      for (const work of current === undefined ? works : [current]) work.isAlone = true
      return works
    }
    for (const work of done) this.#end(work, 'delivered')
    return works.slice(done.length)
  }

  /** Calls the open handlers of an event in the surrounding transaction, and `settle` after each. */
  async #callAll(
    { event, open }: Work,
    signal: AbortSignal,
    { handlerDeadlineMs }: DeliverySettings,
    settle: () => Promise<void>,
  ): Promise<void> {
    const context = { attempt: event.attempts + 1, signal }
    await this.#traced(event, async () => {
      for (const handler of open) await handler.run(deliveryOf(event), context, handlerDeadlineMs, settle)
    })
  }

  /** Delivers one event, independently of the others. */
  async #alone(work: Work, batch: Batch): Promise<Outcome> {
    try {
      const outcome = await this.#traced(work.event, async (span) => {
        const taken = await this.#take(work, batch).catch((error: unknown): Outcome => {
          if (error instanceof LeaseLostError) return 'postponed'
          throw error
        })
        span?.setAttributes({ 'plinth.outcome': taken })
        return taken
      })
      this.#end(work, outcome)
      return outcome
    } catch (error) {
      work.ended.reject(error)
      return 'postponed'
    }
  }

  #end({ event, ended }: Work, outcome: Outcome): void {
    if (outcome === 'delivered') this.#logRecovery(event)
    if (outcome !== 'handed-over') this.#parts.count(event.type, outcome)
    ended.resolve(outcome)
  }

  async #release(works: readonly Work[]): Promise<void> {
    try {
      await this.#parts.store.release(works.map(({ claim }) => claim))
      for (const { ended } of works) ended.resolve('released')
    } catch (error) {
      for (const { ended } of works) ended.reject(error)
    }
  }

  #traced<T>(event: EventRow, work: (span?: Span) => Promise<T>): Promise<T> {
    return inSpan(this.#parts.tracer, `deliver ${event.type}`, this.#spanOf(event), work)
  }

  /** A first attempt soon after the event belongs to the trace of the event. A later one is a new trace that refers to it. */
  #spanOf({ id, type, attempts, createdAt, traceparent }: EventRow): SpanOptions {
    const isSoon = attempts === 0 && this.#parts.clock.now() - createdAt.getTime() <= maxTraceAgeMs
    const place = isSoon ? { parent: traceparent } : { link: traceparent, isOwnLink: true }
    const attributes = {
      'messaging.destination.name': type,
      'messaging.message.id': String(id),
      'plinth.attempt': attempts + 1,
    }
    return { kind: 'consumer', startsTrace: true, ...place, attributes }
  }

  async #take(work: Work, batch: Batch): Promise<Outcome> {
    const { event, claim, lost } = work
    const { stop, lease, settings } = batch
    // The process died in each earlier attempt, possibly because of this event.
    if (event.attempts >= settings.maxAttempts) {
      return this.#giveUp(event, claim, event.attempts, event.lastError ?? 'The process ended during every attempt')
    }
    const { hasCalled, failures, nextLane, postponedMs } = await this.#callHandlers(work, batch)
    if (nextLane === undefined) return 'delivered'
    const { store } = this.#parts
    if (lease.lost.aborted || lost.signal.aborted) return 'postponed'
    if (stop.aborted) {
      await store.release([claim])
      return 'postponed'
    }
    if (failures.length === 0 && postponedMs !== undefined) {
      await store.postpone(claim, postponedMs)
      return 'postponed'
    }
    const reason = failures.length === 0 ? null : fitTextToColumn(failures.join('; '), maxReasonLength)
    if (nextLane !== event.lane && (event.lane === 'database' || !hasCalled)) {
      await store.handOver(claim, nextLane, reason)
      return 'handed-over'
    }
    // A handler of the lane before has failed in the same attempt.
    const before = nextLane === event.lane ? [] : [event.lastError ?? []].flat()
    return this.#retry(work, settings, nextLane, fitTextToColumn([...before, ...failures].join('; '), maxReasonLength))
  }

  async #retry({ event, claim }: Work, settings: DeliverySettings, lane: EventLane, reason: string): Promise<Outcome> {
    const { store, random } = this.#parts
    const attempt = event.attempts + 1
    if (attempt >= settings.maxAttempts) return this.#giveUp(event, claim, attempt, reason)
    const delayMs = retryDelay(attempt, settings, random)
    await store.retry(claim, lane, delayMs, reason)
    this.#logFailure(event, { attempt, delayMs, reason })
    return 'retried'
  }

  /** The lease ends by the clock of the database. So if a late renewal succeeds, the lease was still valid. */
  #keepLease(works: readonly Work[], leaseMs: number, heldSince: ClockReading): LeaseRenewal {
    const { store, clock, log } = this.#parts
    const failures = new RepeatedFailureLog(log, {
      failing: 'the lease of an event cannot be renewed; trying again',
      over: 'the lease of an event is renewed again',
    })
    const open = new Set(works)
    for (const work of works) void work.ended.promise.catch(() => {}).finally(() => open.delete(work))
    const renew = async () => {
      const renewed = [...open]
      if (renewed.length === 0) return true
      const held = await store.renew(
        renewed.map(({ claim }) => claim),
        leaseMs,
      )
      for (const { claim, lost } of renewed) if (!held.has(claim.id)) lost.abort(new LeaseLostError())
      return held.size > 0
    }
    return startLeaseRenewal({
      clock,
      renewMs: leaseMs / 3,
      giveUpMs: leaseMs,
      heldSince,
      renew,
      failures,
      isJudgedByRenewal: true,
    })
  }

  /**
   * Calls the handlers of the lane. The last one also finishes the event, so that an event with one handler needs only
   * one write.
   */
  async #callHandlers({ event, claim, open, lost }: Work, { settings, stop, lease, finish }: Batch): Promise<Calls> {
    const { store, handlers } = this.#parts
    const { leaseMs, handlerDeadlineMs } = settings
    const signal = AbortSignal.any([stop, lease.lost, lost.signal])
    const others = open.filter(({ lane }) => lane !== event.lane)
    const own = open.filter(({ lane }) => lane === event.lane)
    const failures: string[] = []
    const delays: number[] = []
    const undone: typeof own = []
    if (!handlers.knows(event.type)) await store.finish([claim], false)
    else if (open.length === 0) await finish(claim)
    const context = { attempt: event.attempts + 1, signal }
    for (const [index, handler] of own.entries()) {
      const isLast = index === own.length - 1 && undone.length === 0 && others.length === 0
      const settle = () => {
        if (!isLast) return store.note(claim, handler.name, leaseMs)
        return handler.isTransactional ? store.finish([claim]) : finish(claim)
      }
      try {
        await lease.confirm()
        lost.signal.throwIfAborted()
        await handler.run(deliveryOf(event), context, handlerDeadlineMs, settle)
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        undone.push(handler)
        const delayMs = postponedMsOf(error)
        if (delayMs === undefined) failures.push(this.#reason(handler.name, error))
        else delays.push(delayMs)
        if (signal.aborted) break
      }
    }
    return {
      hasCalled: own.length > 0,
      failures,
      nextLane: event.lane === 'database' && others.length > 0 ? laneOf(others) : laneOf([...undone, ...others]),
      postponedMs: delays.length === 0 ? undefined : Math.min(...delays),
    }
  }

  async #giveUp(event: EventRow, claim: DeliveryClaim, attempts: number, reason: string): Promise<Outcome> {
    const { db, store, publish, log } = this.#parts
    const { id, type, streamKey } = event
    await db.transactional(async () => {
      await store.fail(claim, reason)
      if (type === outboxDeliveryFailed.id) return
      const alert = { eventId: id, type, attempts, reason, ...(streamKey == null ? {} : { key: streamKey }) }
      await publish(outboxDeliveryFailed, alert, {})
    })
    this.#failing.delete(type)
    log.error({ event: id, type, attempts, reason }, 'all attempts to deliver an event failed; retry or skip it')
    return 'failed'
  }

  /** Logs a warning for the first failure of an event type, and later failures with level `debug`. */
  #logFailure({ id, type }: EventRow, details: object): void {
    const failures = this.#failing.get(type) ?? 0
    this.#failing.set(type, failures + 1)
    this.#parts.log[failures === 0 ? 'warn' : 'debug'](
      { event: id, type, ...details },
      'an event will be delivered again',
    )
  }

  #logRecovery({ id, type, attempts }: EventRow): void {
    const failures = this.#failing.get(type)
    if (failures === undefined || attempts === 0) return
    this.#failing.delete(type)
    this.#parts.log.info({ event: id, type, failures }, 'a previously failed event was delivered')
  }

  /** Returns the reason without secrets and without control characters, which some databases reject. */
  #reason(handler: string, error: unknown): string {
    return this.#parts.redact(`${handler}: ${errorReason(error)}`).replace(/\p{Cc}+/gu, ' ')
  }
}

const deliveryOf = ({ id, type, payload, streamKey, createdAt }: EventRow) => ({
  id,
  type,
  payload,
  key: streamKey ?? undefined,
  publishedAt: createdAt.getTime(),
})

/** True if the event is delivered when its open handlers have run in one transaction. */
const isShareable = ({ event, open, isAlone }: Work): boolean =>
  !isAlone && open.length > 0 && open.every(({ lane, isTransactional }) => lane === event.lane && isTransactional)

/** Returns a function that finishes all events together for which it is called in one tick or during a write. */
function finishTogether(store: OutboxStore): Batch['finish'] {
  const waiting: { readonly claim: DeliveryClaim; readonly done: PromiseWithResolvers<void> }[] = []
  let isWriting = false
  const write = async () => {
    isWriting = true
    await setImmediate()
    while (waiting.length > 0) {
      const group = waiting.splice(0)
      const isDone = await store.finish(group.map(({ claim }) => claim)).then(
        () => true,
        () => false,
      )
      for (const { claim, done } of group) {
        if (isDone) done.resolve()
        else await store.finish([claim]).then(done.resolve, done.reject)
      }
    }
    isWriting = false
  }
  return (claim) => {
    const done = Promise.withResolvers<void>()
    waiting.push({ claim, done })
    if (!isWriting) void write()
    return done.promise
  }
}
