import { type Database, insertRows } from '@plinth/database'
import type { Delivery as EventDelivery, WebhookEventType, WebhookRowOwner } from '@plinth/events'
import type { Identity } from '@plinth/iam'
import { type Tracer, traceIdOfParent } from '@plinth/kernel'
import type { DeliveryStore } from './delivery-store.ts'
import { Delivery, type Endpoint, Endpoint as endpoints, Subscription } from './entities.ts'
import { EndpointRights } from './rights.ts'

/** Type of the deliveries with which users test an endpoint. */
export const testType = 'webhook.test'

interface FanOutDependencies {
  readonly db: Database
  readonly identity: Pick<Identity, 'principalOf' | 'isInScope'>
  readonly types: ReadonlyMap<string, WebhookEventType>
  readonly suspend: DeliveryStore['suspend']
  /** Called after the commit of new deliveries. */
  readonly added: () => void
  readonly tracer?: Tracer | undefined
}

interface Message {
  readonly type: string
  /** Time of the event, milliseconds since the epoch. */
  readonly at: number
  /** Its `sequence` is the id of the event, so an event that is handled late is not newer than later ones. */
  readonly data: object
  readonly subject: WebhookRowOwner
}

/** Writes the deliveries of an event, in the transaction in which the event is delivered. */
export class FanOut {
  readonly #parts: FanOutDependencies

  constructor(parts: FanOutDependencies) {
    this.#parts = parts
  }

  /**
   * Adds a delivery for each endpoint that subscribes to the type and may see the row. Suspends endpoints of users that do
   * not exist any more.
   */
  async deliver(
    name: string,
    type: WebhookEventType,
    { id, payload, publishedAt }: EventDelivery<never>,
  ): Promise<void> {
    const { db, identity, suspend } = this.#parts
    const em = db.fork()
    const found = await em.find(Subscription.entity, { eventType: name }, { fields: ['endpointId'] })
    if (found.length === 0) return
    const ids = found.map(({ endpointId }) => endpointId)
    const options = { fields: ['id', 'ownerId', 'authorizedBy'], orderBy: { id: 'asc' } } as const
    const all = await em.find(endpoints.entity, { id: { $in: ids } }, options)
    const subject = type.ownerOf(payload)
    const rights = new EndpointRights(identity)
    const allowed: Pick<Endpoint, 'id'>[] = []
    for (const one of all) {
      if (!(await rights.exist(one))) await suspend(one.id, 'no-rights')
      else if (await rights.allow(one, type.permission, subject)) allowed.push(one)
    }
    // An emitted event has no id.
    const sequence = id || db.newId()
    await this.#add(allowed, { type: name, at: publishedAt, data: { ...type.dataOf(payload), sequence }, subject })
  }

  /** Adds a test delivery, in the current transaction. */
  async test(endpoint: Endpoint): Promise<void> {
    const subject = { userId: endpoint.ownerId }
    const data = { endpointId: endpoint.id, sequence: this.#parts.db.newId() }
    await this.#add([endpoint], { type: testType, at: this.#parts.db.clock.now(), data, subject })
  }

  async #add(receivers: readonly Pick<Endpoint, 'id'>[], { type, at, data, subject }: Message): Promise<void> {
    if (receivers.length === 0) return
    const { db, added, tracer } = this.#parts
    const traceparent = tracer?.traceparent ?? null
    const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data })
    const now = new Date(db.clock.now())
    const row = {
      eventType: type,
      status: 'pending' as const,
      attempts: 0,
      nextAt: now,
      finishedAt: null,
      lastReason: null,
      body,
      attemptLog: [],
      step: 0,
      leaseToken: null,
      subjectUserId: subject.userId ?? null,
      subjectOrgId: subject.orgId ?? null,
      createdAt: now,
      traceId: traceIdOfParent(traceparent) ?? null,
      traceparent,
    }
    await insertRows(
      db,
      Delivery.entity,
      receivers.map(({ id: endpointId }) => ({ ...row, id: db.newId(), endpointId })),
    )
    db.afterCommit(added)
  }
}
