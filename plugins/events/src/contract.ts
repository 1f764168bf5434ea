import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static, TSchema } from 'typebox'
import { eventsError } from './declarations.ts'

/** A kind of event, compared by id. */
export interface EventRef<T = unknown> {
  readonly id: string
  /** JSON Schema of the payload as it travels: what JSON can carry. */
  readonly schema: TSchema
  /** Phantom: the payload. Never set. */
  readonly '~type'?: T
}

const eventId = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/
const longestEventId = 128

/**
 * Defines a kind of event: `event('commerce.order.paid', Type.Object({ orderNo: Type.String() }))`. New members of a
 * payload must be optional: events that were published before the change are still delivered after it.
 *
 * @param id dotted lower-case words, at most 128 characters
 * @throws PlinthError `PLINTH_EVENTS_EVENT` for another id
 */
export function event<const S extends TSchema>(id: string, schema: S): EventRef<Static<S>> {
  if (typeof id !== 'string' || !eventId.test(id) || id.length > longestEventId) {
    throw eventsError('PLINTH_EVENTS_EVENT', { place: `"${id}"`, reason: 'is not an event id' })
  }
  return Object.freeze({ id, schema })
}

export interface PublishOptions {
  /**
   * Ordering key, 1 to 200 characters without control characters, for example `order:4711`. Events of one key, of
   * whatever kind, are delivered one after another in the order in which their transactions committed. Without a key
   * there is no order. Until it commits, the transaction holds up others that publish under the same key.
   */
  readonly key?: string
  /**
   * Milliseconds since the epoch, at most ten years ahead: the event is `scheduled` and not delivered before that moment, by
   * the clock of the database, and within the poll interval after it. A moment that is past delivers at once. Not together
   * with a key: what waits would hold up what was published later.
   */
  readonly notBefore?: number
  /** The same as a delay from now, in milliseconds, so that the clock of this process has no part in it. One of the two. */
  readonly delayMs?: number
}

/** An event as a handler sees it. */
export interface Delivery<T = unknown> {
  /** The same at every delivery of one event: what a consumer remembers to do its work once. 0 for emitted events. */
  readonly id: number
  readonly type: string
  readonly payload: T
  readonly key: string | undefined
  /** When it was published, milliseconds since the epoch. */
  readonly publishedAt: number
}

export interface HandlerContext {
  /** 1 for the first try. Always 1 for emitted events. */
  readonly attempt: number
  /** Aborts at the handler deadline, when the product stops, and when another process took the event over. */
  readonly signal: AbortSignal
}

export type Handler<T> = (delivery: Delivery<T>, context: HandlerContext) => void | Promise<void>

export interface HandlerOptions {
  /**
   * True runs the handler inside `database.transactional`, together with the note that it has handled the event: what it
   * writes happens exactly once. Such a handler talks to the database and to nothing else, and may be started again.
   */
  readonly transaction?: boolean
}

export interface Events {
  /**
   * Adds a handler, only during set-up. Every handler of an event is called at least once; a retry calls those that have
   * not succeeded. Published events are delivered in the role `worker`, so a handler of published events must not be
   * limited to another role.
   *
   * @param name unique for the event and stable over versions, for example `member-points.grant`; at most 128 characters
   * @throws PlinthError `PLINTH_EVENTS_EVENT`, `PLINTH_EVENTS_HANDLER`, `PLINTH_EVENTS_HANDLER_TAKEN`,
   *   `PLINTH_EVENTS_HANDLER_NAME`
   */
  on<T>(ref: EventRef<T>, name: string, handler: Handler<T>, options?: HandlerOptions): void
  /**
   * Writes an event to the outbox: in the caller's transaction when there is one, so that it is published if and only if
   * that commits, otherwise in its own. It is delivered after the commit, at least once, also when the process dies.
   *
   * @returns id of the event
   * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`, `PLINTH_EVENTS_KEY`, `PLINTH_EVENTS_NOT_BEFORE`
   */
  publish<T>(ref: EventRef<T>, payload: T, options?: PublishOptions): Promise<number>
  /**
   * Tells the handlers of this process, once and without any promise: not durable, no retry, failures are logged. Inside
   * a transaction it waits for the commit; a rollback drops it.
   *
   * @throws PlinthError `PLINTH_EVENTS_PAYLOAD`
   */
  emit<T>(ref: EventRef<T>, payload: T): void
  /**
   * Declares, during setup, kinds of events that the plugin publishes, so that the product can tell which alerts may occur in it.
   */
  declarePublished(...refs: readonly EventRef[]): void
  /** Ids of the kinds that loaded plugins declared. Complete when all plugins are set up. */
  readonly publishedTypes: ReadonlySet<string>
  /**
   * Resolves when this process has nothing left to do: emitted events are handled, and published ones that are due have
   * been tried, as far as this process delivers any. For tests and commands.
   */
  idle(): Promise<void>
}

export const events = service<Events>('events', { from: '@plinth/events' })

/**
 * Published when an event is given up after its last attempt (decision A10): what alerts and rules listen to. Its own
 * delivery failures are only logged.
 */
export const outboxDeliveryFailed = event(
  'events.outbox.delivery-failed',
  Type.Object({
    eventId: Type.Integer(),
    type: Type.String(),
    key: Type.Optional(Type.String()),
    attempts: Type.Integer(),
    reason: Type.String({ description: 'Without secrets.' }),
  }),
)
