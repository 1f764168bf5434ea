import { randomUUID } from 'node:crypto'
import { type Database, exactInteger } from '@plinth/database'
import { type Events, webhookEndpointFailing, webhookEndpointSuspended } from '@plinth/events'
import { type Attempt, Delivery, Endpoint, storedAttempts } from './entities.ts'
import type { Outcome } from './request.ts'
import { minFailedAttempts, pauseBefore, suspendAfterMs, warnAfterMs } from './schedule.ts'

/** A delivery that this process may send until the end of its lease. */
export interface Claim {
  readonly delivery: Delivery
  readonly token: string
}

/** Milliseconds of a claim. Longer than the time limit of a request and the statements around it. */
const leaseMs = 60_000

interface DeliveryStoreDependencies {
  readonly db: Database
  readonly events: Pick<Events, 'publish'>
  /** Returns a number from 0 to 1, for the random part of pauses. */
  readonly random: () => number
}

/**
 * Claims deliveries and stores the results of attempts. Each change of a claimed delivery checks the token of the claim,
 * so a process that has lost its claim changes nothing.
 */
export class DeliveryStore {
  readonly #parts: DeliveryStoreDependencies

  constructor(parts: DeliveryStoreDependencies) {
    this.#parts = parts
  }

  /** Returns the endpoints with a due delivery, ordered by id. Costs one index lookup per endpoint. */
  async dueEndpoints(): Promise<readonly { readonly id: number; readonly isEnabled: boolean }[]> {
    const rows = await this.#parts.db.query<{ id: unknown; status: Endpoint['status'] }>(
      `select e.id, e.status from webhook_endpoint e where exists (select 1 from webhook_delivery d
         where d.endpoint_id = e.id and d.status = 'pending' and d.next_at <= ?) order by e.id`,
      [this.#now()],
    )
    return rows.map(({ id, status }) => ({ id: exactInteger(id), isEnabled: isEnabled({ status }) }))
  }

  /** Returns the ids of due deliveries of an endpoint, longest due first. */
  async dueDeliveries(endpointId: number, limit: number): Promise<readonly number[]> {
    const where = { endpointId, status: 'pending' as const, nextAt: { $lte: this.#now() } }
    const found = await this.#em.find(Delivery.entity, where, {
      fields: ['id'],
      orderBy: { nextAt: 'asc', id: 'asc' },
      limit,
    })
    return found.map(({ id }) => id)
  }

  /** Returns the milliseconds until the next delivery is due, or infinity. */
  async nextDueInMs(): Promise<number> {
    const now = this.#now()
    const where = { status: 'pending' as const, nextAt: { $gt: now } }
    const [next] = await this.#em.find(Delivery.entity, where, {
      fields: ['nextAt'],
      orderBy: { nextAt: 'asc' },
      limit: 1,
    })
    return next === undefined ? Number.POSITIVE_INFINITY : next.nextAt.getTime() - now.getTime()
  }

  /**
   * Claims a due delivery and records that an attempt runs. Of several processes only one succeeds. An earlier attempt
   * whose process died is recorded as interrupted. Returns `undefined` if another process was faster.
   */
  async claim(id: number): Promise<Claim | undefined> {
    const row = await this.#em.findOne(Delivery.entity, { id, status: 'pending', nextAt: { $lte: this.#now() } })
    if (row === null) return undefined
    const now = this.#now()
    const number = row.attempts + 1
    const running = {
      number,
      startedAt: now.toISOString(),
      outcome: 'running',
      status: null,
      durationMs: null,
      reason: null,
    }
    const attemptLog = [...ended(row.attemptLog), running as Attempt].slice(-storedAttempts)
    const token = randomUUID()
    const claimed = { attempts: number, attemptLog, leaseToken: token, nextAt: new Date(now.getTime() + leaseMs) }
    const where = { id, status: 'pending' as const, attempts: row.attempts, nextAt: { $lte: now } }
    if ((await this.#em.nativeUpdate(Delivery.entity, where, claimed)) === 0) return undefined
    return { delivery: { ...(row as unknown as Delivery), ...claimed }, token }
  }

  /** Reads an endpoint, for one attempt. */
  async endpointOf({ delivery }: Claim): Promise<Endpoint | null> {
    return (await this.#em.findOne(Endpoint.entity, { id: delivery.endpointId })) as unknown as Endpoint | null
  }

  /**
   * Marks the due deliveries of a disabled endpoint as held. They can be redelivered later. An attempt of a process that
   * died is recorded when it is redelivered.
   */
  async hold(endpointId: number): Promise<void> {
    // A user may have enabled the endpoint since it was read.
    await this.#parts.db.execute(
      `update webhook_delivery set status = 'held', lease_token = ?, finished_at = ?
       where endpoint_id = ? and status = 'pending' and next_at <= ? and not exists (
         select 1 from webhook_endpoint e where e.id = ? and e.status in ('active', 'failing'))`,
      [null, this.#now(), endpointId, this.#now(), endpointId],
    )
  }

  /** Ends a claim whose request was not sent. */
  async release({ delivery, token }: Claim, status: 'held' | 'rejected'): Promise<void> {
    const attempts = delivery.attempts - 1
    const attemptLog = delivery.attemptLog.slice(0, -1)
    const columns = { status, attempts, attemptLog, leaseToken: null, finishedAt: this.#now() }
    await this.#em.nativeUpdate(Delivery.entity, { id: delivery.id, leaseToken: token }, columns)
  }

  /** Ends a claim whose request was sent without a known result. Another process sends the delivery immediately. */
  async interrupt({ delivery, token }: Claim): Promise<void> {
    const columns = { attemptLog: [...ended(delivery.attemptLog)], leaseToken: null, nextAt: this.#now() }
    await this.#em.nativeUpdate(Delivery.entity, { id: delivery.id, leaseToken: token }, columns)
  }

  /**
   * Stores the result of an attempt, schedules the next one, and records the health of the endpoint. Returns the new
   * status, or `undefined` if the claim was lost.
   */
  async finish({ delivery, token }: Claim, outcome: Outcome): Promise<Delivery['status'] | undefined> {
    const { db, random } = this.#parts
    const { id, endpointId } = delivery
    const { isSuccess, status: httpStatus, reason, tookMs } = outcome
    const step = delivery.step + 1
    const pause = isSuccess || reason === 'gone' ? undefined : pauseBefore(step, outcome.retryAfterMs, random)
    const status = isSuccess ? 'delivered' : pause === undefined ? 'failed' : 'pending'
    const last = delivery.attemptLog.at(-1) as Attempt
    const result = {
      outcome: isSuccess ? 'succeeded' : 'failed',
      status: httpStatus,
      durationMs: tookMs,
      reason,
    } as const
    const now = this.#now()
    const columns = {
      status: status as Delivery['status'],
      step,
      attemptLog: [...delivery.attemptLog.slice(0, -1), { ...last, ...result }],
      leaseToken: null,
      nextAt: new Date(now.getTime() + (pause ?? 0)),
      finishedAt: status === 'pending' ? null : now,
      lastReason: reason === 'status' ? `http-${httpStatus}` : reason,
    }
    return db.transactional(async (em) => {
      if ((await em.nativeUpdate(Delivery.entity, { id, leaseToken: token }, columns)) === 0) return undefined
      if (isSuccess) await this.#recordSuccess(endpointId)
      else await this.#recordFailure(endpointId, new Date(last.startedAt), reason)
      return status
    })
  }

  /** Suspends an endpoint and publishes it. Does nothing if the endpoint is not enabled. */
  async suspend(endpointId: number, statusReason: 'failing' | 'gone' | 'no-rights'): Promise<void> {
    const { db, events } = this.#parts
    await db.transactional(async (em) => {
      // The version changes, so that nobody overwrites the suspension with an older form.
      const suspended = await db.execute(
        `update webhook_endpoint set status = 'suspended', status_reason = ?, version = version + 1, updated_at = ?
         where id = ? and status in ('active', 'failing')`,
        [statusReason, this.#now(), endpointId],
      )
      if (suspended === 0) return
      const endpoint = await em.findOneOrFail(Endpoint.entity, { id: endpointId })
      await events.publish(webhookEndpointSuspended, { ...aboutOf(endpoint), reason: statusReason })
    })
  }

  async #recordSuccess(endpointId: number): Promise<void> {
    await this.#parts.db.execute(
      `update webhook_endpoint set failing_since = ?, failed_attempts = 0,
         status = case when status = 'failing' then 'active' else status end
       where id = ? and failed_attempts > 0`,
      [null, endpointId],
    )
  }

  async #recordFailure(endpointId: number, startedAt: Date, reason: string | null): Promise<void> {
    const { db, events } = this.#parts
    await db.execute(
      `update webhook_endpoint set failing_since = coalesce(failing_since, ?), failed_attempts = failed_attempts + 1
       where id = ?`,
      [startedAt, endpointId],
    )
    if (reason === 'gone') return this.suspend(endpointId, 'gone')
    const endpoint = await db.fork().findOne(Endpoint.entity, { id: endpointId })
    if (endpoint === null) return
    const failingMs = this.#now().getTime() - (endpoint.failingSince?.getTime() ?? Number.POSITIVE_INFINITY)
    if (failingMs >= suspendAfterMs && endpoint.failedAttempts >= minFailedAttempts) {
      return this.suspend(endpointId, 'failing')
    }
    if (failingMs < warnAfterMs) return
    const warn = "update webhook_endpoint set status = 'failing' where id = ? and status = 'active'"
    if ((await db.execute(warn, [endpointId])) > 0) await events.publish(webhookEndpointFailing, aboutOf(endpoint))
  }

  get #em() {
    return this.#parts.db.fork()
  }
  #now(): Date {
    return new Date(this.#parts.db.clock.now())
  }
}

const aboutOf = ({
  id,
  name,
  ownerId,
  failedAttempts,
}: Pick<Endpoint, 'id' | 'name' | 'ownerId' | 'failedAttempts'>) => ({
  endpointId: id,
  endpointName: name,
  ownerId,
  failedAttempts,
})

/** True if events are sent to the endpoint. */
export const isEnabled = ({ status }: Pick<Endpoint, 'status'>): boolean => status === 'active' || status === 'failing'

/** Returns the attempts, of which a process that died left one running. */
const ended = (log: readonly Attempt[]): readonly Attempt[] =>
  log.map((one) => (one.outcome === 'running' ? { ...one, outcome: 'interrupted' } : one))
