import { hash } from 'node:crypto'
import { type Database, insertOrAddToRows, insertOrReplaceRows, insertRows } from '@plinth/database'
import type { Notification } from '@plinth/notification'
import type { DigestItem, DigestOutcome, Digests } from './contract.ts'
import { channelsOf, type Declared, draftOf } from './digest-message.ts'
import { Definition, Digest, Item, maxShownItems } from './entities.ts'
import type { Readers, TimeZones } from './readers.ts'
import { instantOf, nextSlot } from './slots.ts'

const maxUsers = 1_000
const maxKeyLength = 200
const maxJsonLength = 16_384

interface CollectorDependencies {
  readonly db: Database
  readonly notification: Pick<Notification, 'enqueue' | 'channels'>
  readonly readers: Pick<Readers, 'timeZones'>
  readonly declared: Declared
}

/** A checked item. */
type Checked = Required<Omit<DigestItem, 'itemKey'>> & Pick<DigestItem, 'itemKey'>
type Statements = ReturnType<Database['fork']>

/** The open digest of a user, locked by the current transaction. */
interface OpenDigest {
  readonly id: number
  readonly userId: number
  readonly itemCount: number
  readonly latestAt: Date
  readonly closesAt: Date
  readonly slot: string | null
}

/**
 * Collects items. The first statement creates or locks the open digest of each user, so that of two callers the second one
 * finds the row of the first one, and the close of a digest waits until an item is committed or sees it.
 */
export class DigestCollector implements Digests {
  readonly #parts: CollectorDependencies

  constructor(parts: CollectorDependencies) {
    this.#parts = parts
  }

  async add(item: DigestItem): Promise<DigestOutcome> {
    const { db, notification, declared } = this.#parts
    const checked = checkItem(item)
    const { digest: code, data, attributes, userIds, priority, itemKey } = checked
    const found = await db.fork().findOne(Definition.entity, { code, enabled: true })
    const definition = found as unknown as Definition | null
    if (definition === null) return 'off'
    if (priority === 'critical') {
      const draft = draftOf(definition, declared, { count: 1, items: [data], last: data }, attributes, userIds)
      const once =
        itemKey === undefined ? {} : { idempotencyKey: hash('sha256', JSON.stringify([code, ...keyOf(checked)])) }
      await notification.enqueue(draft, { ...channelsOf(definition, notification), ...once, priority })
      return 'sent'
    }
    await db.statements(() => this.#collect(definition, checked))
    return 'collected'
  }

  async #collect(definition: Definition, item: Checked): Promise<void> {
    const { db, readers } = this.#parts
    // Its own entity manager, which knows no rows of an earlier call in the same transaction.
    const em = db.fork()
    const { subjectKey, data, attributes, itemKey } = item
    const now = db.clock.now()
    const zones = definition.kind === 'slots' ? await readers.timeZones(item.userIds) : undefined
    const opened = this.#newDigests(definition, item, zones, now)
    const key = ['definitionId', 'userId', 'subjectKey', 'generation'] as const
    await insertOrReplaceRows(db, Digest.entity, { key, sets: ['userId'] }, opened)
    const where = { definitionId: definition.id, subjectKey, generation: 0, userId: { $in: [...item.userIds] } }
    const fields = ['id', 'userId', 'itemCount', 'latestAt', 'closesAt', 'slot'] as const
    const locked = await em.find(Digest.entity, where, { fields, orderBy: { userId: 'asc' } })
    const open = locked as unknown as readonly OpenDigest[]
    const hashes = new Map(open.map(({ userId }) => [userId, hashOf(definition.id, userId, subjectKey, itemKey)]))
    const known = itemKey === undefined ? new Set() : await collectedHashes(em, [...hashes.values()])
    const isNew = ({ userId }: OpenDigest) => !known.has(hashes.get(userId))
    const added = open.filter(isNew)
    const rows = added.map(({ id, userId, itemCount }) => ({
      id: db.newId(),
      digestId: id,
      position: itemCount + 1,
      itemHash: hashes.get(userId) ?? null,
      data: itemCount < maxShownItems ? { ...data } : null,
      createdAt: new Date(now),
    }))
    // A row without data and hash would only be counted, and a digest may get any number of items.
    const needed = rows.filter(({ itemHash, data }) => itemHash !== null || data !== null)
    await insertRows(db, Item.entity, needed)
    const changes = added.map((one) => ({
      ...rowOf(definition, one.userId, subjectKey, now),
      id: db.newId(),
      itemCount: 1,
      closesAt: endOf(definition, one, zones, now),
      slot: null,
      data: { ...data },
      attributes: { ...attributes },
    }))
    const change = { key, sums: ['itemCount'], sets: ['lastItemAt', 'closesAt', 'data', 'attributes'] } as const
    await insertOrAddToRows(db, Digest.entity, change, changes)
    // A digest that was opened for an item that was collected before.
    const empty = open.filter((one) => !isNew(one) && one.itemCount === 0).map(({ id }) => id)
    if (empty.length > 0) await em.nativeDelete(Digest.entity, { id: { $in: empty } })
  }

  /** Returns the rows of new digests in the order of their users, which all callers lock in the same order. */
  #newDigests(definition: Definition, { userIds, subjectKey }: Checked, zones: TimeZones | undefined, now: number) {
    return userIds.map((userId) => {
      const row = rowOf(definition, userId, subjectKey, now)
      const slot = zones === undefined ? null : nextSlot(definition.slots, zones.of(userId), now).key
      const closesAt = endOf(definition, { ...row, slot }, zones, now)
      return { ...row, id: this.#parts.db.newId(), closesAt, slot, data: {}, attributes: {} }
    })
  }
}

const rowOf = ({ id, windowSeconds, maxSeconds }: Definition, userId: number, subjectKey: string, now: number) => ({
  definitionId: id,
  userId,
  subjectKey,
  generation: 0,
  state: 'open' as const,
  itemCount: 0,
  openedAt: new Date(now),
  lastItemAt: new Date(now),
  closesAt: new Date(now + windowSeconds * 1000),
  latestAt: new Date(now + maxSeconds * 1000),
  closedAt: null,
  notificationId: null,
  failure: null,
})

/** Returns the end of a digest after an item, for a slot by the current time zone of the user. */
function endOf(
  { kind, windowSeconds }: Definition,
  { userId, latestAt, closesAt, slot }: Pick<OpenDigest, 'userId' | 'latestAt' | 'closesAt' | 'slot'>,
  zones: TimeZones | undefined,
  now: number,
): Date {
  if (kind === 'sliding') return new Date(Math.min(now + windowSeconds * 1000, latestAt.getTime()))
  if (slot === null || zones === undefined) return closesAt
  return new Date(instantOf(slot, zones.of(userId)) ?? closesAt)
}

const keyOf = ({ userIds, subjectKey, itemKey }: Checked) => [userIds, subjectKey, itemKey]

const hashOf = (definitionId: number, userId: number, subjectKey: string, itemKey: string | undefined) =>
  itemKey === undefined ? null : hash('sha256', JSON.stringify([definitionId, userId, subjectKey, itemKey]))

async function collectedHashes(em: Statements, hashes: readonly (string | null)[]): Promise<ReadonlySet<unknown>> {
  const found = await em.find(Item.entity, { itemHash: { $in: hashes as string[] } }, { fields: ['itemHash'] })
  return new Set(found.map(({ itemHash }) => itemHash))
}

/** @throws RangeError that contains the name of the member and the rule */
function checkItem(item: DigestItem): Checked {
  const { subjectKey = '', itemKey, data = {}, attributes = {}, priority = 'normal' } = item
  const userIds = [...new Set(item.userIds)].sort((one, other) => one - other)
  const check = (isValid: boolean, rule: string) => {
    if (!isValid) throw new RangeError(`Digest item: ${rule}`)
  }
  check(userIds.length >= 1 && userIds.length <= maxUsers, `userIds must contain 1 to ${maxUsers} users`)
  check(
    userIds.every((id) => Number.isSafeInteger(id) && id > 0),
    'userIds must be integers from 1',
  )
  check(isLine(subjectKey, 0), `subjectKey must have at most ${maxKeyLength} printable characters`)
  check(itemKey === undefined || isLine(itemKey, 1), `itemKey must have 1 to ${maxKeyLength} printable characters`)
  check(isSmallJson(data), `data must be JSON with at most ${maxJsonLength} characters`)
  check(isSmallJson(attributes), `attributes must be JSON with at most ${maxJsonLength} characters`)
  check(['normal', 'critical'].includes(priority), 'priority must be normal or critical')
  return { ...item, userIds, subjectKey, data, attributes, priority }
}

const isLine = (text: unknown, shortest: number) =>
  typeof text === 'string' &&
  text.length >= shortest &&
  text.length <= 2 * maxKeyLength &&
  [...text].length <= maxKeyLength &&
  !/[\p{Cc}\p{Cs}]/u.test(text)

/** True for an object whose JSON text is short. Throws for cycles, as `JSON.stringify` does. */
const isSmallJson = (value: unknown) =>
  typeof value === 'object' && value !== null && JSON.stringify(value).length <= maxJsonLength
