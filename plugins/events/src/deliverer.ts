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
import { type HandlerRegistry, laneOf } from './handler-registry.ts'
import type { DeliveryClaim, OutboxStore } from './outbox-store.ts'

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
 * delay. `handed-over`: the handlers of another lane follow.
 */
export type Outcome = 'delivered' | 'retried' | 'failed' | 'postponed' | 'handed-over'

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

interface Work {
  readonly event: EventRow
  readonly claim: DeliveryClaim
  readonly claimedAt: ClockReading
  readonly settings: DeliverySettings
  readonly stop: AbortSignal
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

  constructor(parts: DelivererDependencies) {
    this.#parts = parts
  }

  /**
   * Claims an event and delivers it if it is still due.
   *
   * @param stop aborts the delivery and releases the event
   * @throws database errors; the event is due again when its lease has expired
   */
  async deliver(event: EventRow, stop: AbortSignal): Promise<Outcome> {
    const { store, handlers, clock, count } = this.#parts
    const settings = this.#parts.settings()
    if (!handlers.knows(event.type)) {
      if (!(await store.pass(event))) return 'postponed'
      count(event.type, 'delivered')
      return 'delivered'
    }
    const claimedAt = readClocks(clock)
    const claim = await store.claim(event, settings.leaseMs)
    if (claim === undefined) return 'postponed'
    const work = { event, claim, claimedAt, settings, stop }
    const take = async (span?: Span): Promise<Outcome> => {
      const outcome = await this.#take(work).catch((error: unknown): Outcome => {
        if (error instanceof LeaseLostError) return 'postponed'
        throw error
      })
      span?.setAttributes({ 'plinth.outcome': outcome })
      return outcome
    }
    const outcome = await inSpan(this.#parts.tracer, `deliver ${event.type}`, this.#spanOf(event), take)
    if (outcome !== 'handed-over') count(event.type, outcome)
    return outcome
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

  async #take(work: Work): Promise<Outcome> {
    const { event, claim, claimedAt, settings, stop } = work
    // The process died in each earlier attempt, possibly because of this event.
    if (event.attempts >= settings.maxAttempts) {
      return this.#giveUp(event, claim, event.attempts, event.lastError ?? 'The process ended during every attempt')
    }
    const lease = this.#keepLease(claim, settings.leaseMs, claimedAt)
    let calls: Calls
    try {
      calls = await this.#callHandlers(work, lease)
    } finally {
      lease.end()
    }
    const { hasCalled, failures, nextLane, postponedMs } = calls
    if (nextLane === undefined) {
      this.#logRecovery(event)
      return 'delivered'
    }
    const { store } = this.#parts
    if (lease.lost.aborted) return 'postponed'
    if (stop.aborted) {
      await store.release(claim)
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
    return this.#retry(work, nextLane, fitTextToColumn([...before, ...failures].join('; '), maxReasonLength))
  }

  async #retry({ event, claim, settings }: Work, lane: EventLane, reason: string): Promise<Outcome> {
    const { store, random } = this.#parts
    const attempt = event.attempts + 1
    if (attempt >= settings.maxAttempts) return this.#giveUp(event, claim, attempt, reason)
    const delayMs = retryDelay(attempt, settings, random)
    await store.retry(claim, lane, delayMs, reason)
    this.#logFailure(event, { attempt, delayMs, reason })
    return 'retried'
  }

  /** The lease ends by the clock of the database. So if a late renewal succeeds, the lease was still valid. */
  #keepLease(claim: DeliveryClaim, leaseMs: number, heldSince: ClockReading): LeaseRenewal {
    const { store, clock, log } = this.#parts
    const failures = new RepeatedFailureLog(log, {
      failing: 'the lease of an event cannot be renewed; trying again',
      over: 'the lease of an event is renewed again',
    })
    const renew = () => store.renew(claim, leaseMs)
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
  async #callHandlers({ event, claim, settings, stop }: Work, lease: LeaseRenewal): Promise<Calls> {
    const { store, handlers } = this.#parts
    const { leaseMs, handlerDeadlineMs } = settings
    const signal = AbortSignal.any([stop, lease.lost])
    // The finished handlers are read in each attempt, because a released or replayed event may already have some.
    const handled = await store.handled(claim)
    const open = handlers.of(event.type).filter(({ name }) => !handled.has(name))
    const others = open.filter(({ lane }) => lane !== event.lane)
    const own = open.filter(({ lane }) => lane === event.lane)
    const failures: string[] = []
    const delays: number[] = []
    const undone: typeof own = []
    if (open.length === 0) await store.finish(claim)
    const context = { attempt: event.attempts + 1, signal }
    const delivery = {
      id: event.id,
      type: event.type,
      payload: event.payload,
      key: event.streamKey ?? undefined,
      publishedAt: event.createdAt.getTime(),
    }
    for (const [index, handler] of own.entries()) {
      const isLast = index === own.length - 1 && undone.length === 0 && others.length === 0
      const settle = () => (isLast ? store.finish(claim) : store.note(claim, handler.name, leaseMs))
      try {
        await lease.confirm()
        await handler.run(delivery, context, handlerDeadlineMs, settle)
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
