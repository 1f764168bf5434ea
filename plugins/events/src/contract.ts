import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import { eventsError } from './declarations.ts'

/** A type of event. Two types are the same if their ids are equal. */
export interface EventRef<T = unknown> {
  readonly id: string
  /** JSON Schema of the payload. */
  readonly schema: TSchema
  /** Type of the payload, for the compiler only. Never set. */
  readonly '~type'?: T
}

const eventId = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/
const maxEventIdLength = 128

/**
 * Defines a type of event: `event('commerce.order.paid', Type.Object({ orderNo: Type.String() }))`. If you add a
 * property to the payload later, make it optional, because events published before the change are still delivered after
 * it.
 *
 * @param id lower-case words joined by dots, at most 128 characters
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
   * Ordering key, for example `order:4711`: 1 to 200 characters without control characters. Events of any type with the
   * same key are delivered one after another in the order of their commits. Events without a key have no order. Other
   * publishers with the same key wait until the transaction of this publisher ends.
   */
  readonly key?: string
  /**
   * Milliseconds since the epoch, at most ten years ahead. The event is `scheduled` until this time and is delivered
   * within a poll interval after it, by the clock of the database. A past time delivers immediately. Cannot be combined
   * with a key, because the event would block later ones.
   */
  readonly notBefore?: number
  /**
   * Delay in milliseconds. Unlike `notBefore`, it does not depend on the clock of this process. Cannot be combined with
   * `notBefore` or with a key.
   */
  readonly delayMs?: number
  /**
   * Order of the events of a key. `commit` (default): publishers with the same key wait for each other. `publication`:
   * the order of the event ids. Publishers never wait, and an event that fails does not block later ones. All events of
   * a key must use the same order.
   */
  readonly order?: 'commit' | 'publication'
}

export interface Delivery<T = unknown> {
  /**
   * Id of the event, which is the same for all its deliveries. A consumer can store the id to process the event only
   * once. Ids of the events of a key increase in the order of their commits, as exactly as the clocks of the instances
   * agree. 0 for emitted events.
   */
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
  /**
   * Aborts when the handler runs longer than its time limit, when the product stops, and when another process has taken
   * over the event.
   */
  readonly signal: AbortSignal
}

/**
 * Thrown by a handler of a published event that cannot do its work yet, for example because of a rate limit of the
 * product. The event is delivered again after the delay. Later events of its key continue to wait. The delivery is not
 * counted as an attempt.
 */
export class PostponedDelivery extends Error {
  override readonly name = 'PostponedDelivery'
  /** Milliseconds, at most `platform.events.retry.max-delay`. */
  readonly delayMs: number

  constructor(delayMs: number) {
    super(`Delivered again after ${delayMs} ms`)
    this.delayMs = delayMs
  }
}

/** Handles an event. The delivery ends when the returned promise settles. The result is not used. */
export type Handler<T> = (delivery: Delivery<T>, context: HandlerContext) => unknown

export interface HandlerOptions {
  /**
   * If true, the handler runs in a transaction that also records that the handler is done. Its database writes then
   * take effect exactly once. The handler must only use the database, and may be called again. Handlers of several events
   * may share the transaction.
   */
  readonly transaction?: boolean
  /**
   * Lane whose slots the handler uses. Handlers that wait for other servers must not use `database`, so that they never
   * delay handlers that only use the database. Default: `database` with `transaction`, otherwise `network`.
   */
  readonly lane?: EventLane
}

/** Lanes of event handlers. Each lane has its own slots in each process. */
export const eventLanes = ['database', 'network'] as const
export type EventLane = (typeof eventLanes)[number]

export interface Events {
  /**
   * Adds a handler during setup. Each handler of an event is called at least once. A retry only calls handlers that
   * have not succeeded. Published events are delivered by processes with the role `worker`, so handlers must be added
   * in that role.
   *
   * @param name unique for the event and the same in all versions, for example `member-points.grant`; at most 128
   *   characters
   * @throws PlinthError `PLINTH_EVENTS_EVENT`, `PLINTH_EVENTS_HANDLER`, `PLINTH_EVENTS_HANDLER_TAKEN`,
   *   `PLINTH_EVENTS_HANDLER_NAME`
   */
  on<T>(ref: EventRef<T>, name: string, handler: Handler<T>, options?: HandlerOptions): void
  /**
   * Stores an event in the outbox, in the current transaction or in a new one. After the commit, the event is delivered
   * at least once, even if the process dies. After a rollback, it is not delivered.
   *
   * An event that reports a change belongs in the transaction of the change. Outside it, the event is stored although
   * the change fails, or is lost if the process dies between both. Publish outside a transaction only if the event
   * reports no change of the database.
   *
   * @returns id of the event
   * @throws PlinthError `PLINTH_EVENTS_SCHEMA`, `PLINTH_EVENTS_PAYLOAD`, `PLINTH_EVENTS_KEY`, `PLINTH_EVENTS_NOT_BEFORE`
   */
  publish<T>(ref: EventRef<T>, payload: T, options?: PublishOptions): Promise<number>
  /**
   * Calls the handlers in this process once, without storing the event. Errors are logged and not retried. Inside a
   * transaction, the call waits for the commit; a rollback cancels it.
   *
   * @throws PlinthError `PLINTH_EVENTS_SCHEMA`, `PLINTH_EVENTS_PAYLOAD`
   */
  emit<T>(ref: EventRef<T>, payload: T): void
  /**
   * Declares the event types that the plugin publishes. Must be called during setup. The product uses them to find out
   * which alerts can occur. A handler whose schema differs from that of a declared type is logged at the start.
   *
   * @throws PlinthError `PLINTH_EVENTS_SCHEMA` if another plugin publishes the same id with another schema
   */
  declarePublished(...refs: readonly EventRef[]): void
  /**
   * True if this process has a handler of the event. A publisher calls it after setup for an event that only exists for
   * optional handlers, so that nothing is stored without them.
   */
  isHandled(ref: EventRef): boolean
  /** Ids of the declared event types. Complete after all plugins are set up. */
  readonly publishedTypes: ReadonlySet<string>
  /**
   * Resolves when this process has no work left: all emitted events are handled, and each due event was attempted if
   * this process delivers events. Used by tests and commands.
   */
  idle(): Promise<void>
}

export const events = service<Events>('events', { from: '@plinth/events' })

/**
 * Published when the last attempt to deliver another event fails (decision A10), for alerts and rules. If the delivery
 * of this event itself fails, the failure is only logged.
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
