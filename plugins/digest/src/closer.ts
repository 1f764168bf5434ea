import type { Database } from '@plinth/database'
import { isBusinessError, type Logger } from '@plinth/kernel'
import type { Notification } from '@plinth/notification'
import { businessError } from './declarations.ts'
import { channelsOf, type Declared, draftOf, fittingItems, type ItemData } from './digest-message.ts'
import { Definition, Digest, Item } from './entities.ts'
import type { Readers } from './readers.ts'
import { instantOf, nextSlot } from './slots.ts'

/** Number of due digests that an instance reads together. */
export const batchSize = 100
/** Milliseconds until a digest is tried again whose message could not be enqueued because of an unexpected error. */
const retryMs = 60_000
/** The inbox is the only channel that does not disturb. */
const silentChannel = 'database'

interface CloserDependencies {
  readonly db: Database
  readonly notification: Pick<Notification, 'enqueue' | 'channels'>
  readonly readers: Readers
  readonly declared: Declared
  readonly log: Pick<Logger, 'warn' | 'error'>
}

type DueDigest = Pick<Digest, 'id' | 'definitionId' | 'userId' | 'subjectKey' | 'slot' | 'closesAt'>

/**
 * Closes digests and enqueues their messages, in one transaction each. A conditional update decides which of several
 * instances closes a digest. After it, the items are fixed, because later items open the next digest.
 */
export class DigestCloser {
  readonly #parts: CloserDependencies

  constructor(parts: CloserDependencies) {
    this.#parts = parts
  }

  /**
   * Closes up to `batchSize` due digests. Returns the milliseconds until the next one is due, or infinity.
   *
   * @param signal stops between two digests
   */
  async closeDue(signal: AbortSignal): Promise<number> {
    const { db, readers } = this.#parts
    const now = db.clock.now()
    const due = await this.#nextDigests(batchSize)
    const batch = due.filter(({ closesAt }) => closesAt.getTime() <= now)
    const definitions = await this.#definitionsOf(batch)
    const ofSlots = batch.filter(({ slot }) => slot !== null)
    const disturbing = batch.filter(({ definitionId }) => isDisturbing(definitions.get(definitionId)))
    const zones = await readers.timeZones(ofSlots.map(({ userId }) => userId))
    const quiet = await readers.quietUntil(
      disturbing.map(({ userId }) => userId),
      now,
    )
    const ends = new Map(disturbing.map(({ id, userId }) => [id, quiet.get(userId) ?? 0]))
    // Instances that read the same digests begin at different ones.
    for (const one of rotated(batch)) {
      if (signal.aborted) return 0
      const definition = definitions.get(one.definitionId)
      try {
        const slot = definition && (await this.#slotOf(one, definition, zones.of(one.userId), now))
        const at = Math.max(slot?.at ?? 0, ends.get(one.id) ?? 0)
        if (at > now) await this.#postpone(one, at, slot?.key ?? one.slot)
        else await this.close(one.id)
      } catch (error) {
        await this.#handle(one, error)
      }
    }
    if (batch.length === batchSize) return 0
    return (due.at(batch.length)?.closesAt.getTime() ?? Number.POSITIVE_INFINITY) - now
  }

  /**
   * Closes an open digest and enqueues its message. Joins the current transaction.
   *
   * @param isByOperator true: an operator sends it now, so that its slot is still free
   * @returns false if it is not open any more
   * @throws the errors of `Notification.enqueue`; BusinessError "404" `digest.definition-missing`
   */
  async close(id: number, { isByOperator = false } = {}): Promise<boolean> {
    const { db, notification, declared } = this.#parts
    return db.statements(async () => {
      const em = db.fork()
      const closed = { state: 'sent', generation: id, closedAt: new Date(db.clock.now()) } as const
      const change = isByOperator ? { ...closed, slot: null } : closed
      if ((await em.nativeUpdate(Digest.entity, { id, generation: 0 }, change)) === 0) return false
      const { definitionId, userId, itemCount, data, attributes } = await em.findOneOrFail(Digest.entity, { id })
      const found = await em.findOne(Definition.entity, { id: definitionId })
      const definition = found as unknown as Definition | null
      if (definition === null) throw businessError('definition-missing')
      const first = { digestId: id, position: { $lte: definition.itemsShown } }
      const items = await em.find(Item.entity, first, { fields: ['data'], orderBy: { position: 'asc' } })
      const content = {
        count: itemCount,
        items: fittingItems(items.map((one) => (one.data ?? {}) as ItemData)),
        last: data as ItemData,
      }
      const options = { ...channelsOf(definition, notification), idempotencyKey: `digest:${id}` }
      const message = await notification.enqueue(draftOf(definition, declared, content, attributes, [userId]), options)
      await em.nativeUpdate(Digest.entity, { id }, { notificationId: message.id })
      return true
    })
  }

  /** Discards an open digest. Joins the current transaction. Returns false if it is not open any more. */
  async discard(id: number): Promise<boolean> {
    const closedAt = new Date(this.#parts.db.clock.now())
    const change = { state: 'discarded', generation: id, slot: null, closedAt } as const
    return (await this.#parts.db.fork().nativeUpdate(Digest.entity, { id, generation: 0 }, change)) > 0
  }

  /** Returns open digests, those that close first. */
  async #nextDigests(limit: number): Promise<readonly DueDigest[]> {
    const fields = ['id', 'definitionId', 'userId', 'subjectKey', 'slot', 'closesAt'] as const
    const orderBy = { closesAt: 'asc', id: 'asc' } as const
    const found = await this.#parts.db.fork().find(Digest.entity, { generation: 0 }, { fields, orderBy, limit })
    return found as unknown as readonly DueDigest[]
  }

  async #definitionsOf(digests: readonly DueDigest[]): Promise<ReadonlyMap<number, Definition>> {
    const ids = [...new Set(digests.map(({ definitionId }) => definitionId))]
    const found = ids.length === 0 ? [] : await this.#parts.db.fork().find(Definition.entity, { id: { $in: ids } })
    return new Map(found.map((one) => [one.id, one as unknown as Definition]))
  }

  /**
   * Returns the slot of a digest by the current time zone of the user. If the user has already got the digest of this local
   * date and time, the next slot.
   */
  async #slotOf(
    { slot, definitionId, userId, subjectKey }: DueDigest,
    definition: Definition,
    zone: string,
    now: number,
  ) {
    if (slot === null || definition.kind !== 'slots') return undefined
    const [row] = await this.#parts.db.query<{ last: string | null }>(
      `select max(slot) as last from digest
       where definition_id = ? and user_id = ? and subject_key = ? and generation > 0`,
      [definitionId, userId, subjectKey],
    )
    const last = row?.last ?? ''
    if (slot > last) return { key: slot, at: instantOf(slot, zone) ?? now }
    return nextSlot(definition.slots, zone, now, last)
  }

  /** Changes the end of a digest, unless another item or instance has changed it. */
  async #postpone({ id, closesAt }: DueDigest, at: number, slot: string | null): Promise<void> {
    const change = { closesAt: new Date(at), slot }
    await this.#parts.db.fork().nativeUpdate(Digest.entity, { id, generation: 0, closesAt }, change)
  }

  /** Ends a digest whose message can never be enqueued. After other errors, the digest is tried again later. */
  async #handle(digest: DueDigest, error: unknown): Promise<void> {
    const { db, log } = this.#parts
    const { id } = digest
    if (!isBusinessError(error)) {
      log.error({ err: error, digestId: id }, 'the message of a digest cannot be enqueued; trying again')
      return this.#postpone(digest, db.clock.now() + retryMs, digest.slot)
    }
    const failure = error.reason ?? error.code
    log.warn({ digestId: id, failure }, 'the message of a digest was rejected')
    const closedAt = new Date(db.clock.now())
    const change = { state: 'failed', generation: id, slot: null, closedAt, failure } as const
    await db.fork().nativeUpdate(Digest.entity, { id, generation: 0 }, change)
  }
}

const isDisturbing = (definition: Definition | undefined) =>
  definition !== undefined && !(definition.channels.length === 1 && definition.channels[0] === silentChannel)

/** Returns the list, beginning at a random position. */
function rotated<T>(list: readonly T[]): readonly T[] {
  const first = Math.floor(Math.random() * list.length)
  return [...list.slice(first), ...list.slice(0, first)]
}
