import type { Database } from '@plinth/database'
import { type Clock, withinDeadline } from '@plinth/kernel'
import {
  type Delivery,
  type EventLane,
  type EventRef,
  eventLanes,
  type Handler,
  type HandlerContext,
  type HandlerOptions,
} from './contract.ts'
import { eventsError } from './declarations.ts'
import { decodePayload } from './payload.ts'

export type EncodedDelivery = Omit<Delivery, 'payload'> & {
  readonly payload: string
  /**
   * Schema with which this process has validated the text. Handlers with the same schema need not validate it again.
   */
  readonly checkedBy?: EventRef['schema']
}

export interface BoundHandler {
  readonly name: string
  readonly lane: EventLane
  /** True if the handler runs in a transaction, and may be called again after a rollback. */
  readonly isTransactional: boolean
  readonly schema: EventRef['schema']
  /**
   * Calls the handler, then `settle`, in one transaction if the handler requested it, or in the surrounding one. After the time limit, the
   * transaction is rolled back and further database calls of the handler fail.
   *
   * @throws the error of the handler or of `settle`, an error after `deadlineMs`, or the reason of the aborted signal
   */
  run(delivery: EncodedDelivery, context: HandlerContext, deadlineMs: number, settle: Settle): Promise<void>
}
type Settle = () => Promise<void> | void

const handlerName = /^[a-z0-9](?:[a-z0-9.-]{0,126}[a-z0-9])?$/

/** Checks the types at run time, because plugins in JavaScript may pass any value. */
function assertCall(ref: unknown, name: string, handler: unknown): asserts ref is EventRef {
  const { id, schema } = Object(ref) as Partial<EventRef>
  if (typeof id !== 'string' || typeof schema !== 'object') {
    const found = typeof ref === 'string' ? `the text "${ref}"` : String(ref)
    throw eventsError('PLINTH_EVENTS_EVENT', {
      place: `The event of the handler "${name}"`,
      reason: `is ${found}, which was not created with event()`,
    })
  }
  if (typeof handler === 'function') return
  throw eventsError('PLINTH_EVENTS_HANDLER', { handler: name, event: id, found: String(handler) })
}

export class HandlerRegistry {
  readonly #byEvent = new Map<string, Map<string, BoundHandler>>()
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  add<T>(ref: EventRef<T>, name: string, handler: Handler<T>, options: HandlerOptions): void {
    const { transaction = false, lane = transaction ? 'database' : 'network' } = options
    assertCall(ref, name, handler)
    if (!handlerName.test(name)) throw eventsError('PLINTH_EVENTS_HANDLER_NAME', { handler: name })
    const handlers = this.#byEvent.get(ref.id) ?? new Map<string, BoundHandler>()
    if (handlers.has(name)) throw eventsError('PLINTH_EVENTS_HANDLER_TAKEN', { event: ref.id, handler: name })
    this.#byEvent.set(ref.id, handlers)

    const db = this.#db
    const clock = this.#clock
    handlers.set(name, {
      name,
      lane,
      isTransactional: transaction,
      schema: ref.schema,
      async run(delivery, context, deadlineMs, settle) {
        const call = async (signal: AbortSignal) => {
          // Each handler gets its own copy of the payload, so that changes by one handler do not affect other handlers.
          const { checkedBy, ...event } = delivery
          const isChecked = checkedBy === ref.schema
          const payload = (isChecked ? JSON.parse(event.payload) : decodePayload(ref, event.payload)) as T
          await handler({ ...event, payload }, { ...context, signal })
        }
        const work = transaction
          ? (signal: AbortSignal) =>
              db.transactional(
                async () => {
                  await call(signal)
                  await settle()
                },
                { timeoutMs: deadlineMs, signal },
              )
          : call
        const late = () => new Error(`Handler "${name}" did not finish within ${deadlineMs} ms`)
        await withinDeadline(clock, deadlineMs, work, late, context.signal)
        if (!transaction) await settle()
      },
    })
  }

  of(type: string): readonly BoundHandler[] {
    return [...(this.#byEvent.get(type)?.values() ?? [])]
  }

  /** Returns the lane in which the delivery of an event begins. */
  laneOf(type: string): EventLane {
    return laneOf(this.of(type)) ?? 'database'
  }

  knows(type: string): boolean {
    return this.#byEvent.has(type)
  }
}

/** Returns the lane of the handlers that are called first. Undefined if there are no handlers. */
export const laneOf = (handlers: readonly Pick<BoundHandler, 'lane'>[]): EventLane | undefined =>
  eventLanes.find((lane) => handlers.some((handler) => handler.lane === lane))
