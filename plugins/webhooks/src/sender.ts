import { Circuits, PollLoop } from '@plinth/coordination'
import type { WebhookEventType } from '@plinth/events'
import type { Identity } from '@plinth/iam'
import { type Clock, inSpan, type Logger, RepeatedFailureLog, type SpanOptions, type Tracer } from '@plinth/kernel'
import type { OutgoingHttp } from '@plinth/outgoing-http'
import { type Claim, type DeliveryStore, isEnabled } from './delivery-store.ts'
import type { Endpoint } from './entities.ts'
import { testType } from './fan-out.ts'
import type { AttemptResult } from './metrics.ts'
import { type Outcome, sendWebhook } from './request.ts'
import { EndpointRights } from './rights.ts'
import type { EndpointSecrets } from './secrets.ts'

/** Maximum interval in milliseconds between polls that find nothing. */
const idlePollMs = 5_000
/** Maximum pause in milliseconds for all deliveries of an endpoint that asks for it with `Retry-After`. */
const maxEndpointPauseMs = 300_000
/** An attempt that begins later than this after the event, in milliseconds, is a trace of its own. */
const maxTraceAgeMs = 300_000

interface SenderDependencies {
  readonly store: DeliveryStore
  readonly secrets: Pick<EndpointSecrets, 'activeOf'>
  readonly types: ReadonlyMap<string, WebhookEventType>
  readonly identity: Pick<Identity, 'principalOf' | 'isInScope'>
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Clock
  readonly log: Logger
  /** Maximum numbers of concurrent requests. */
  readonly slots: { readonly total: number; readonly endpoint: number }
  readonly pollMs: () => number
  readonly count: (type: string, result: AttemptResult) => void
  readonly tracer?: Tracer | undefined
}

/**
 * Sends due deliveries. Each endpoint has its own slots and its own circuit, so an endpoint that is slow or down never
 * delays others.
 */
export class Sender {
  readonly #parts: SenderDependencies
  readonly #circuits: Circuits
  readonly #loop: PollLoop
  readonly #failures: RepeatedFailureLog
  readonly #stopped = new AbortController()
  /** Number of running attempts by endpoint. */
  readonly #running = new Map<number, number>()
  readonly #work = new Set<Promise<void>>()
  /** Monotonic time until which an endpoint asked for a pause. */
  readonly #pausedUntil = new Map<number, number>()
  /** The endpoint that got the last slot, so that the next poll begins with another one. */
  #lastServed = 0

  constructor(parts: SenderDependencies) {
    this.#parts = parts
    const { clock, log, pollMs } = parts
    this.#circuits = new Circuits(clock)
    this.#loop = new PollLoop({
      look: (longest) => this.#look(longest),
      pollMs,
      idleMs: () => Math.max(idlePollMs, pollMs()),
      subject: 'webhook deliveries',
      clock,
      log,
    })
    this.#failures = new RepeatedFailureLog(log, {
      failing: 'webhook deliveries cannot be sent or stored; trying again',
      over: 'webhook deliveries can be sent and stored again',
    })
  }

  start(): void {
    this.#loop.start()
  }

  /** Polls immediately. */
  wake(): void {
    this.#loop.wake()
  }

  /** Starts no more attempts and waits for the running ones. When the signal aborts, ends them. */
  async drain(signal: AbortSignal): Promise<void> {
    const abort = () => this.#stopped.abort(new Error('The product stops'))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    await this.#loop.stop()
    await Promise.all(this.#work)
  }

  async #look(longest: number): Promise<number> {
    const { store, slots } = this.#parts
    const due = await store.dueEndpoints()
    // Endpoints take turns, so that the first ones do not always get the slots.
    const first = Math.max(
      0,
      due.findIndex(({ id }) => id > this.#lastServed),
    )
    let waitMs = Number.POSITIVE_INFINITY
    for (const { id: endpointId, isEnabled: isOpen } of [...due.slice(first), ...due.slice(0, first)]) {
      if (!isOpen) {
        await store.hold(endpointId)
        continue
      }
      const free = slots.total - this.#work.size
      // The end of an attempt polls again.
      if (free <= 0) return longest
      const pauseMs = this.#pauseMs(endpointId)
      waitMs = Math.min(waitMs, pauseMs > 0 ? pauseMs : Number.POSITIVE_INFINITY)
      if (pauseMs > 0) continue
      const allowed = this.#circuits.isSuspect(endpointId) ? 1 : slots.endpoint
      const limit = Math.min(free, allowed - (this.#running.get(endpointId) ?? 0))
      if (limit <= 0) continue
      for (const id of await store.dueDeliveries(endpointId, limit)) this.#launch(endpointId, id)
      this.#lastServed = endpointId
    }
    return Math.min(waitMs, await store.nextDueInMs())
  }

  /** Returns for how many milliseconds the endpoint gets no request. */
  #pauseMs(endpointId: number): number {
    const now = this.#parts.clock.monotonic()
    const pausedMs = (this.#pausedUntil.get(endpointId) ?? 0) - now
    if (pausedMs > 0) return pausedMs
    this.#pausedUntil.delete(endpointId)
    // Asks the circuit last, because it lets one caller through.
    return (this.#running.get(endpointId) ?? 0) > 0 && this.#circuits.isSuspect(endpointId)
      ? 0
      : this.#circuits.restMs(endpointId)
  }

  #launch(endpointId: number, id: number): void {
    this.#running.set(endpointId, (this.#running.get(endpointId) ?? 0) + 1)
    const work = this.#deliver(id)
      .then(
        () => {
          this.#failures.succeeded()
          // Otherwise the next poll follows after its pause, so that a database that fails is not asked without end.
          this.wake()
        },
        (error: unknown) => this.#failures.failed(error),
      )
      .finally(() => {
        this.#work.delete(work)
        const left = (this.#running.get(endpointId) ?? 1) - 1
        if (left > 0) this.#running.set(endpointId, left)
        else this.#running.delete(endpointId)
      })
    this.#work.add(work)
  }

  async #deliver(id: number): Promise<void> {
    const { store, tracer, clock } = this.#parts
    const claim = await store.claim(id)
    if (claim === undefined) return
    await inSpan(tracer, 'webhook attempt', spanOf(claim, clock.now()), () => this.#attempt(claim))
  }

  async #attempt(claim: Claim): Promise<void> {
    const { store, count } = this.#parts
    const { eventType } = claim.delivery
    const endpoint = await store.endpointOf(claim)
    const refusal = endpoint === null ? 'held' : await this.#refusalOf(claim, endpoint)
    if (endpoint === null || refusal !== undefined) {
      await store.release(claim, refusal ?? 'held')
      return count(eventType, refusal ?? 'held')
    }
    const outcome = await this.#send(claim, endpoint)
    if (outcome === undefined) return store.interrupt(claim)
    const status = await store.finish(claim, outcome)
    if (status === undefined) return
    count(eventType, status === 'pending' ? 'retried' : status === 'delivered' ? 'delivered' : 'failed')
  }

  /** Returns the status of a delivery that must not be sent, by the current state of the endpoint and of its users. */
  async #refusalOf({ delivery }: Claim, endpoint: Endpoint): Promise<'held' | 'rejected' | undefined> {
    const { identity, store, types } = this.#parts
    if (!isEnabled(endpoint)) return 'held'
    const rights = new EndpointRights(identity)
    if (!(await rights.exist(endpoint))) {
      await store.suspend(endpoint.id, 'no-rights')
      return 'held'
    }
    const { eventType, subjectUserId: userId, subjectOrgId: orgId } = delivery
    const type = types.get(eventType)
    if (type === undefined && eventType !== testType) return 'held'
    const isAllowed = eventType === testType || (await rights.allow(endpoint, type?.permission, { userId, orgId }))
    return isAllowed ? undefined : 'rejected'
  }

  /** Returns `undefined` if the product stopped before the request ended. */
  async #send({ delivery }: Claim, endpoint: Endpoint): Promise<Outcome | undefined> {
    const { secrets, http, clock } = this.#parts
    const { signal } = this.#stopped
    const active = await secrets.activeOf(endpoint)
    if (active === undefined)
      return { isSuccess: false, status: null, reason: 'secret-unusable', retryAfterMs: 0, tookMs: 0 }
    const request = { url: endpoint.url, id: `msg_${delivery.id}`, body: delivery.body, signal }
    const outcome = await sendWebhook({ ...request, secrets: active }, { http, clock })
    if (signal.aborted && outcome.status === null) return undefined
    if (outcome.status === null) this.#circuits.failed(endpoint.id, outcome.tookMs)
    else this.#circuits.responded(endpoint.id)
    if (outcome.retryAfterMs > 0) {
      const pauseMs = Math.min(outcome.retryAfterMs, maxEndpointPauseMs)
      this.#pausedUntil.set(endpoint.id, clock.monotonic() + pauseMs)
    }
    return outcome
  }
}

/** The first attempt soon after the event belongs to its trace. A later one is a new trace that refers to it. */
function spanOf({ delivery }: Claim, now: number): SpanOptions {
  const { id, eventType, endpointId, attempts, createdAt, traceparent } = delivery
  const isSoon = attempts === 1 && now - createdAt.getTime() <= maxTraceAgeMs
  return {
    kind: 'producer',
    startsTrace: true,
    ...(isSoon ? { parent: traceparent } : { link: traceparent, isOwnLink: true }),
    attributes: {
      'messaging.destination.name': eventType,
      'messaging.message.id': `msg_${id}`,
      'plinth.endpoint_id': endpointId,
      'plinth.attempt': attempts,
    },
  }
}
