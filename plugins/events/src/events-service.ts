import type { Database } from '@plinth/database'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { isMissingTable } from '@plinth/migrations'
import type { EventRef, Events, Handler, HandlerOptions, PublishOptions } from './contract.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { EncodedDelivery, HandlerRegistry } from './handler-registry.ts'
import type { OutboxWriter } from './outbox-writer.ts'
import { encodePayload } from './payload.ts'
import { PublishedTypes } from './published-types.ts'

interface EventsDependencies {
  readonly db: Database
  readonly handlers: HandlerRegistry
  readonly writer: OutboxWriter
  readonly dispatcher: Dispatcher | undefined
  readonly handlerDeadlineMs: () => number
  readonly redact: (text: string) => string
  readonly clock: Clock
  readonly log: Logger
}

export class EventsService implements Events {
  readonly #parts: EventsDependencies
  readonly #emitted = new Set<Promise<void>>()
  readonly #stopped = new AbortController()
  readonly #types = new PublishedTypes()

  constructor(parts: EventsDependencies) {
    this.#parts = parts
  }

  on<T>(ref: EventRef<T>, name: string, handler: Handler<T>, options: HandlerOptions = {}): void {
    this.#parts.handlers.add(ref, name, handler, options)
  }

  declarePublished(...refs: readonly EventRef[]): void {
    for (const ref of refs) this.#types.declare(ref)
  }

  get publishedTypes(): ReadonlySet<string> {
    return this.#types.declared
  }

  isHandled({ id }: EventRef): boolean {
    return this.#parts.handlers.knows(id)
  }

  async publish<T>(ref: EventRef<T>, payload: T, options: PublishOptions = {}): Promise<number> {
    this.#types.assertSchema(ref)
    return this.#parts.writer.publish(ref, payload, options)
  }

  emit<T>(ref: EventRef<T>, payload: T): void {
    const { db, clock } = this.#parts
    this.#types.assertSchema(ref)
    const text = encodePayload(ref, payload)
    const publishedAt = clock.now()
    db.afterCommit(() => {
      const delivery = { id: 0, type: ref.id, payload: text, key: undefined, publishedAt, checkedBy: ref.schema }
      const work = this.#tell(delivery).finally(() => this.#emitted.delete(work))
      this.#emitted.add(work)
    })
  }

  /** Logs the handlers whose schema differs from that of a declared type. Called when all handlers are known. */
  logForeignSchemas(): void {
    const { handlers, log } = this.#parts
    for (const event of this.#types.declared) {
      const others = handlers.of(event).filter(({ schema }) => this.#types.differs({ id: event, schema }))
      if (others.length === 0) continue
      const about = { event, handlers: others.map(({ name }) => name) }
      log.warn(about, 'handlers have another schema than the publisher of the event; import the event instead')
    }
  }

  async #tell(delivery: EncodedDelivery): Promise<void> {
    const { handlers, handlerDeadlineMs, redact, log } = this.#parts
    const context = { attempt: 1, signal: this.#stopped.signal }
    const calls = handlers.of(delivery.type).map(async (handler) => {
      try {
        await handler.run(delivery, context, handlerDeadlineMs(), () => {})
      } catch (error) {
        const reason = redact(errorReason(error))
        const about = { type: delivery.type, handler: handler.name, reason }
        // Before the first migration there is no outbox, so published events are emitted in this process. The tables of
        // the handlers do not exist either.
        if (isMissingTable(error)) log.warn(about, 'a handler of an emitted event has no tables; run `plinth migrate`')
        else log.error(about, 'a handler of an emitted event failed')
      }
    })
    await Promise.all(calls)
  }

  async idle(): Promise<void> {
    do {
      await Promise.all(this.#emitted)
      await this.#parts.dispatcher?.idle()
    } while (this.#emitted.size > 0)
  }

  /** Waits for current deliveries. Cancels them when the signal aborts. */
  async drain(signal: AbortSignal): Promise<void> {
    const giveUp = () => this.#stopped.abort(new Error('The product stops'))
    if (signal.aborted) giveUp()
    else signal.addEventListener('abort', giveUp, { once: true })
    await this.#parts.dispatcher?.drain(signal)
    await this.settled()
  }

  /** Resolves when no handler of an emitted event is running. */
  async settled(): Promise<void> {
    while (this.#emitted.size > 0) await Promise.all(this.#emitted)
  }
}
