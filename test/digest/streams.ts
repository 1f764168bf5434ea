import { type Database, exactInteger, insertRows } from '@plinth/database'
import type { NotificationPreferences } from '@plinth/inbox'
import type { Test } from 'tap'
import { Definition, Digest, Item } from '../../plugins/digest/src/entities.ts'
import type { Command } from './instance.ts'

/** An instance as the stream sees it. `run` returns false if the process was killed before it responded. */
export interface Worker {
  run(command: Command): Promise<boolean>
}

interface StreamOptions {
  readonly db: Database
  readonly preferences: Pick<NotificationPreferences, 'switchOff'>
  /** Returns two workers for a step. */
  readonly workers: () => Promise<readonly [Worker, Worker]>
  /** Called while the commands of a step run. */
  readonly disturb?: (step: number) => Promise<unknown>
  readonly steps: number
  readonly seed: number
  readonly startMs: number
}

/** One item and the steps between which it was collected. */
interface Sent {
  readonly key: string
  readonly series: string
  readonly digest: string
  readonly userId: number
  readonly subjectKey: string
  readonly from: number
  until: number | undefined
}

interface Preference {
  readonly timeZone: string
  /** Hours of the day. */
  readonly quiet: readonly [from: number, until: number] | undefined
}

const minuteMs = 60_000
const users = [11, 12, 13]
const zones = ['UTC', 'Asia/Tokyo', 'America/Los_Angeles', 'Europe/Berlin', 'Pacific/Auckland']
const quietHours = [undefined, undefined, [22, 7], [12, 14]] as const
const kinds = {
  fixed: { kind: 'fixed', windowSeconds: 1_800 },
  sliding: { kind: 'sliding', windowSeconds: 1_200, maxSeconds: 3_600 },
  slots: { kind: 'slots', slots: ['daily 08:00', 'daily 20:00'] },
} as const

const localTime = (at: number, timeZone: string) => new Date(at).toLocaleString('sv', { timeZone }).slice(0, 16)

function isQuiet({ quiet, timeZone }: Preference, at: number): boolean {
  if (quiet === undefined) return false
  const [from, until] = quiet
  const hour = Number(localTime(at, timeZone).slice(11, 13))
  return from < until ? hour >= from && hour < until : hour >= from || hour < until
}

/**
 * Runs a random stream of items, closes, quiet hours and time zones on two workers, and compares the digests with a model:
 * every item is in exactly one digest, in the order in which callers added it, each digest has one message with its items,
 * no digest is sent in quiet hours, and none twice for a local date and time.
 */
export async function runStream(t: Test, options: StreamOptions) {
  const { db, preferences, workers, disturb, steps, startMs } = options
  let state = options.seed
  const random = (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T

  const createdAt = new Date(startMs)
  const definitions = Object.entries(kinds).map(([code, kind]) => ({
    id: db.newId(),
    code,
    enabled: true,
    windowSeconds: 1_800,
    maxSeconds: 3_600,
    itemsShown: 100,
    channels: ['mail'],
    template: null,
    subject: 'News',
    content: 'Items',
    version: 1,
    createdAt,
    updatedAt: createdAt,
    updatedBy: null,
    ...kind,
    slots: 'slots' in kind ? [...kind.slots] : [],
  }))
  await insertRows(db, Definition.entity, definitions)

  const current = new Map<number, Preference>(users.map((userId) => [userId, { timeZone: 'UTC', quiet: undefined }]))
  /** Preferences by the time of the step in which they applied. */
  const applied = new Map<number, ReadonlyMap<number, Preference>>()
  const prefer = async (userId: number, preference: Preference) => {
    current.set(userId, preference)
    const { timeZone, quiet } = preference
    const [start, end] = quiet?.map((hour) => hour * 60) ?? [null, null]
    await preferences.switchOff(userId, 'marketing')
    await db.execute(
      `update notification_preference set time_zone = ?, quiet_time_zone = ?, quiet_start = ?, quiet_end = ?
       where user_id = ?`,
      [timeZone, quiet === undefined ? null : timeZone, start ?? null, end ?? null, userId],
    )
  }

  const items: Sent[] = []
  let now = startMs
  const add = async (worker: Worker, item: Sent, step: number) => {
    const { digest, userId, subjectKey, key } = item
    const about = { digest, userIds: [userId], subjectKey, itemKey: key, data: { key } }
    if (await worker.run({ now, add: about })) item.until ??= step
  }
  const newItem = (step: number): Sent => {
    const [digest, userId, subjectKey] = [pick(Object.keys(kinds)), pick(users), pick(['one', 'two'])]
    const series = `${digest} ${userId} ${subjectKey}`
    const item = { key: `item ${items.length}`, series, digest, userId, subjectKey, from: step, until: undefined }
    items.push(item)
    return item
  }
  for (let step = 0; step < steps; step++) {
    now += (1 + random(60)) * minuteMs
    if (random(4) === 0) await prefer(pick(users), { timeZone: pick(zones), quiet: pick(quietHours) })
    applied.set(now, new Map(current))
    const pair = await workers()
    // A caller that does not know whether its item was collected adds it again; others add theirs twice.
    const unknown = items.filter(({ until }) => until === undefined)
    const repeated = items.length > 0 && random(3) === 0 ? [pick(items)] : []
    const added = [...unknown, ...repeated, ...Array.from({ length: 1 + random(4) }, () => newItem(step))]
    const work = added.map((item) => add(pick(pair), item, step))
    if (random(2) === 0) work.push(...pair.map(async (worker) => void (await worker.run({ now, close: true }))))
    await Promise.all([...work, disturb?.(step)])
  }
  for (const userId of users) await prefer(userId, { timeZone: 'UTC', quiet: undefined })
  for (let day = 0; day < 4; day++) {
    now += 24 * 60 * minuteMs
    applied.set(now, new Map(current))
    const pair = await workers()
    for (const item of items.filter(({ until }) => until === undefined)) await add(pair[0], item, steps + day)
    await Promise.all(pair.map((worker) => worker.run({ now, close: true })))
  }
  return compare(t, db, items, applied)
}

async function compare(
  t: Test,
  db: Database,
  items: readonly Sent[],
  applied: ReadonlyMap<number, ReadonlyMap<number, Preference>>,
) {
  const em = db.fork()
  const digests = await em.find(Digest.entity, {}, { orderBy: { closedAt: 'asc', id: 'asc' } })
  const stored = await em.find(Item.entity, {}, { orderBy: { position: 'asc' } })
  const messages = await db.query<{ id: unknown; payload: string }>('select id, payload from notification_message')
  const payloads = new Map(messages.map(({ id, payload }) => [exactInteger(id), JSON.parse(payload).message]))
  const codeOf = new Map((await em.find(Definition.entity, {})).map(({ id, code }) => [id, code]))
  const keysOf = (digestId: number) =>
    stored.filter((one) => one.digestId === digestId).map(({ data }) => String((data as { key?: unknown } | null)?.key))

  t.same(
    digests.filter((one) => one.state !== 'sent').map(({ id, failure }) => [id, failure]),
    [],
    'all are sent',
  )
  /** Digest and position of each item, in the order of the digests of its series. */
  const places = new Map<string, readonly [digest: number, position: number]>()
  const problems: string[] = []
  const lastSlots = new Map<string, string>()
  for (const [index, digest] of digests.entries()) {
    const { id, userId, subjectKey, itemCount, notificationId, slot, closedAt } = digest
    const at = closedAt?.getTime() ?? 0
    const preference = applied.get(at)?.get(userId)
    const keys = keysOf(id)
    const { variables } = payloads.get(notificationId ?? 0) ?? {}
    const shown = (variables?.items ?? []).map(({ key }: { readonly key: string }) => key)
    if (itemCount !== keys.length || variables?.count !== itemCount || shown.join() !== keys.join())
      problems.push(`digest ${id} has ${keys.join()}, its message ${variables?.count}: ${shown.join()}`)
    if (preference === undefined || isQuiet(preference, at)) problems.push(`digest ${id} was sent in quiet hours`)
    const series = `${codeOf.get(digest.definitionId)} ${userId} ${subjectKey}`
    if (slot != null && preference !== undefined) {
      if (slot <= (lastSlots.get(series) ?? '')) problems.push(`${series}: ${slot} was sent twice`)
      if (localTime(at, preference.timeZone) < slot) problems.push(`${series}: ${slot} was sent early`)
      lastSlots.set(series, slot)
    }
    for (const [position, key] of keys.entries()) {
      if (places.has(key)) problems.push(`${key} is in two digests`)
      places.set(key, [index, position])
    }
  }
  for (const { key } of items) if (!places.has(key)) problems.push(`${key} is lost`)
  const isBefore = (one: string, other: string) => {
    const [[digest, position], [otherDigest, otherPosition]] = [places.get(one) ?? [0, 0], places.get(other) ?? [0, 0]]
    return digest < otherDigest || (digest === otherDigest && position < otherPosition)
  }
  for (const series of Map.groupBy(items, ({ series }) => series).values()) {
    for (const one of series)
      for (const other of series)
        if ((one.until ?? 0) < other.from && !isBefore(one.key, other.key))
          problems.push(`${one.key} was added before ${other.key}`)
  }
  t.same(problems, [])
  t.equal(messages.length, digests.length, 'one message for each digest')
  return { items: items.length, digests: digests.length }
}
