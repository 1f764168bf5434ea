import { randomUUID } from 'node:crypto'
import type { Database } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { OutboxDelivery, OutboxEvent } from './entities.ts'

/** The right to deliver one event, for as long as its lease lasts. */
export interface Claim {
  readonly id: number
  readonly token: string
}

/** The claim is no longer ours: the lease ran out and another process took the event, or an operator did. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost'
  constructor() {
    super('The lease of the event was lost')
  }
}

/** Events that one look into the outbox finds. */
export const scanSize = 100

/**
 * What a dispatcher reads and writes. Each change of an event names the token of the claim under which it was made, so a
 * process that lost its lease without noticing changes nothing.
 */
export class OutboxStore {
  readonly #db: Database
  readonly #clock: Clock

  constructor(db: Database, clock: Clock) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Ids of events that are due, at most `scanSize`, those that wait longest first. With a key only the first of it that
   * is not delivered or skipped; nothing is ever put before that one, because positions follow commits.
   */
  async due(): Promise<number[]> {
    const rows = await this.#db.query<{ id: number | string }>(
      `select e.id from outbox_event e where e.status = 'pending' and e.next_at <= ? and (e.stream_key is null
         or not exists (select 1 from outbox_event p where p.stream_key = e.stream_key and p.position < e.position))
       order by e.next_at, e.id limit ${scanSize}`,
      [this.#now()],
    )
    return rows.map(({ id }) => Number(id))
  }

  async load(id: number): Promise<OutboxEvent | null> {
    return this.#db.fork().findOne(OutboxEvent, id)
  }

  /** The first event of the key that is not delivered or skipped. */
  async head(key: string): Promise<OutboxEvent | null> {
    const where = { streamKey: key, position: { $ne: null } }
    const [first] = await this.#db.fork().find(OutboxEvent, where, { orderBy: { position: 'asc' }, limit: 1 })
    return first ?? null
  }

  /** Claims the event, counting an attempt, unless somebody else has. */
  async claim(id: number, leaseMs: number): Promise<Claim | undefined> {
    const token = randomUUID()
    const taken = await this.#db.execute(
      `update outbox_event set lease_token = ?, next_at = ?, attempts = attempts + 1
       where id = ? and status = 'pending' and next_at <= ?`,
      [token, this.#now(leaseMs), id, this.#now()],
    )
    return taken === 1 ? { id, token } : undefined
  }

  /** @throws LeaseLost */
  async renew({ id, token }: Claim, leaseMs: number): Promise<void> {
    await this.#change('update outbox_event set next_at = ? where id = ? and lease_token = ?', [
      this.#now(leaseMs),
      id,
      token,
    ])
  }

  /** Names of handlers that have handled the event. */
  async handled(eventId: number): Promise<ReadonlySet<string>> {
    const rows = await this.#db.fork().find(OutboxDelivery, { eventId })
    return new Set(rows.map(({ handler }) => handler))
  }

  /** Notes that one handler is done while others are not. In the transaction around it, if any. @throws LeaseLost */
  async note(claim: Claim, handler: string, leaseMs: number): Promise<void> {
    await this.#db.transactional(async () => {
      await this.renew(claim, leaseMs)
      await this.#db.execute('insert into outbox_delivery (id, event_id, handler, delivered_at) values (?, ?, ?, ?)', [
        this.#db.newId(),
        claim.id,
        handler,
        this.#now(),
      ])
    })
  }

  /** All handlers are done. @throws LeaseLost */
  async finish({ id, token }: Claim): Promise<void> {
    await this.#change(
      `update outbox_event set status = 'delivered', position = null, lease_token = null, last_error = null,
         finished_at = ? where id = ? and lease_token = ?`,
      [this.#now(), id, token],
    )
  }

  /** Puts the event back for another attempt. @throws LeaseLost */
  async retry({ id, token }: Claim, delayMs: number, reason: string): Promise<void> {
    await this.#change(
      'update outbox_event set next_at = ?, lease_token = null, last_error = ? where id = ? and lease_token = ?',
      [this.#now(delayMs), reason, id, token],
    )
  }

  /** Gives the event up. It keeps its position, so later events of its key wait. @throws LeaseLost */
  async fail({ id, token }: Claim, reason: string): Promise<void> {
    await this.#change(
      `update outbox_event set status = 'failed', lease_token = null, last_error = ?
       where id = ? and lease_token = ?`,
      [reason, id, token],
    )
  }

  /** Gives the claim back as if it had never been taken. @throws LeaseLost */
  async release({ id, token }: Claim): Promise<void> {
    await this.#change(
      `update outbox_event set next_at = ?, lease_token = null, attempts = attempts - 1
       where id = ? and lease_token = ?`,
      [this.#now(), id, token],
    )
  }

  async #change(sql: string, parameters: Parameters<Database['execute']>[1]): Promise<void> {
    if ((await this.#db.execute(sql, parameters)) === 0) throw new LeaseLost()
  }

  #now(laterMs = 0): Date {
    return new Date(this.#clock.now() + laterMs)
  }
}
