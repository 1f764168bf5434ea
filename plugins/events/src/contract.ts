import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import { eventsError } from './declarations.ts'

/** A type of event, compared by id. */
export interface EventRef<T = unknown> {
  readonly id: string
  /** JSON Schema of the payload as it is transmitted, which is a JSON value. */
  readonly schema: TSchema
  /** Type of the payload, for the compiler only. Never set. */
  readonly '~type'?: T
}

const eventId = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/
const maxEventIdLength = 128

/**
 * Defines a type of event: `event('commerce.order.paid', Type.Object({ orderNo: Type.String() }))`. New payload members
 * must be optional: events that were published before the change are still delivered after it.
 *
 * @param id dotted lower-case words, at most 128 characters
 * @throws PlinthError `PLINTH_EVENTS_EVENT` for an invalid id
 */
export function event<const S extends TSchema>(id: string, schema: S): EventRef<Static<S>> {
  if (typeof id !== 'string' || !eventId.test(id) || id.length > maxEventIdLength) {
    throw eventsError('PLINTH_EVENTS_EVENT', { place: `"${id}"`, reason: 'is not an event id' })
  }
  return Object.freeze({ id, schema })
}

export interface PublishOptions {
  /**
   * Ordering key, 1 to 200 characters without control characters, for example `order:4711`. Events with the same key,
   * of any type, are delivered one after another in the order of their commits. Events without a key have no order.
   * Until it commits, the transaction blocks other publishers with the same key.
   */
  readonly key?: string
  /**
   * Milliseconds since the epoch, at most ten years ahead. Until this moment the event is `scheduled`. It is delivered
   * after it, by the clock of the database and within the poll interval. A past moment delivers immediately. Cannot be
   * combined with a key, because a scheduled event would block later ones.
   */
  readonly notBefore?: number
  /**
   * Delay from now, in milliseconds. Unlike `notBefore`, it does not use the clock of this process. Cannot be combined
   * with `notBefore`.
   */
  readonly delayMs?: number
}

/** An event as a handler receives it. */
export interface Delivery<T = unknown> {
  /** Equal for all deliveries of one event. A consumer can store it to process the event once. 0 for emitted events. */
  readonly id: number
  readonly type: string
  readonly payload: T
  readonly key: string | undefined
  /** Time of publication, milliseconds since the epoch. */
  readonly publishedAt: number
}

export interface HandlerContext {
  /** Number of the attempt, from 1. Always 1 for emitted events. */
  readonly attempt: number
  /** Aborts at the handler deadline, when the product stops, and when another process took over the event. */
  readonly signal: AbortSignal
}

export type Handler<T> = (delivery: Delivery<T>, context: HandlerContext) => void | Promise<void>

export interface HandlerOptions {
  /**
   * If true, the handler runs inside `database.transactional`, together with the record that it has handled the event.
   * Its writes take effect exactly once. Such a handler must only use the database, and may be called again.
   */
  readonly transaction?: boolean
}

export interface Events {
  /**
   * Adds a handler. Call it only during setup. Each handler of an event is called at least once. A retry calls those
   * that have not succeeded. Published events are delivered in the role `worker`, so their handlers must be added in
   * that role.
   *
   * @param name unique for the event and stable across versions, for example `member-points.grant`; at most 128
   *   characters
   * @throws PlinthError `PLINTH_EVENTS_EVENT`, `PLINTH_EVENTS_HANDLER`, `PLINTH_EVENTS_HANDLER_TAKEN`,
   *   `PLINTH_EVENTS_HANDLER_NAME`
   */
  on<T>(ref: EventRef<T>, name: string, handler: Handler<T>, options?: HandlerOptions): void
  /**
   * Writes an event to the outbox. In a transaction of the caller, the event is published if and only if that
   * transaction commits. Otherwise it has its own transaction. It is delivered after the commit, at least once, even if
   * the process dies.
   *
   * @returns id of the event
   * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`, `PLINTH_EVENTS_KEY`, `PLINTH_EVENTS_NOT_BEFORE`
   */
  publish<T>(ref: EventRef<T>, payload: T, options?: PublishOptions): Promise<number>
  /**
   * Calls the handlers of this process once, without a guarantee: the event is not stored or retried, and errors are
   * only logged. Inside a transaction the call waits for the commit. A rollback discards it.
   *
   * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`
   */
  emit<T>(ref: EventRef<T>, payload: T): void
  /**
   * Declares the types of events that the plugin publishes. Call it during setup. The product uses the list to find
   * alerts that can occur.
   */
  declarePublished(...refs: readonly EventRef[]): void
  /** Ids of the declared event types. Complete after the setup of all plugins. */
  readonly publishedTypes: ReadonlySet<string>
  /**
   * Resolves when this process has no work left: emitted events are handled, and each due published event was attempted
   * if this process delivers events. For tests and commands.
   */
  idle(): Promise<void>
}

export const events = service<Events>('events', { from: '@plinth/events' })

/**
 * Published when an event fails after its last attempt (decision A10), for alerts and rules. Its own delivery failures
 * are only logged.
 */
export const outboxDeliveryFailed = event(
  'events.outbox.delivery-failed',
  Type.Object({
    eventId: Type.Integer(),
    type: Type.String(),
    key: Type.Optional(Type.String()),
    attempts: Type.Integer(),
    reason: Type.String({ description: 'Text without secrets.' }),
  }),
)
