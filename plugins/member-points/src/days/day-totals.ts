import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  addToRows,
  exactInteger,
  type FoundPage,
  findPage,
  firstIdAt,
  insertMissing,
  type PageWindow,
  updateRows,
} from '@plinth/database'
import { answerList, count, described, id, type ListOrder, listPage, listQuery, routesWith, Type } from '@plinth/http'
import type { MovedUnits } from '@plinth/money'
import { defaultAsset } from '../contract.ts'
import { DayPositionRow, DayRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { own } from '../permissions.ts'
import { pointsAsset } from '../rules/rule-types.ts'

/** What became of points that moved, in the words of their sources. */
const ways = ['granted', 'returned', 'consumed', 'reversed', 'expired'] as const
type Way = (typeof ways)[number]

/** Journals whose points come in without being earned, or leave without being spent, by their kind. */
const waysOfKinds: ReadonlyMap<string, Way> = new Map([
  ['money.reverse', 'returned'],
  ['points.expire', 'expired'],
  ...['points.refund', 'points.recover', 'points.adjust-deduct', 'points.forfeit'].map(
    (kind) => [kind, 'reversed'] as const,
  ),
])

/** @param units that entered the account, or left it when they are below zero */
export const movedAs = (kind: string, units: number): Way =>
  waysOfKinds.get(kind) ?? (units > 0 ? 'granted' : 'consumed')

type DayRouteParts = Pick<Parts, 'days'>

const dayView = Type.Object({
  id,
  day: Type.String({ description: 'Day of the programme, `YYYY-MM-DD`.' }),
  asset: Type.String(),
  granted: described(count, 'Points that came in, what was taken back of them not subtracted.'),
  returned: described(count, 'Spent points that came back from cancelled or refunded orders.'),
  consumed: described(count, 'Points that were spent.'),
  reversed: described(count, 'Points that were taken back: by refunds and by hand.'),
  expired: described(count, 'Points that lapsed.'),
})

const newestDayFirst: ListOrder = [{ property: 'day', direction: 'desc' }]

const { route } = routesWith<DayRouteParts>()

/** Points of all members, by day. */
export const dayRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/member-points/days',
    summary: 'Points that were granted, returned, spent, taken back and lapsed, by day, the newest first',
    description: 'What moved in the last minutes is still to be added.',
    access: { permission: own.ledgerView, scope: 'all' },
    request: { query: Type.Object({ ...listQuery.properties, asset: Type.Optional(pointsAsset) }) },
    response: listPage(dayView),
    handler: ({ query }, { days }) =>
      answerList(query, newestDayFirst, (window) => days.list(query.asset ?? defaultAsset, window)),
  }),
]

/** Entries of one transaction. */
const pageSize = 2_000
/**
 * Milliseconds that an entry is left alone: entries of transactions that began before it are committed by then, or never. Ids
 * follow the clocks of processes, whose differences are included.
 */
const settledMs = 600_000

type DayTotalsParts = Pick<Parts, 'db' | 'clock' | 'ledger' | 'calendar'>

/**
 * What was granted, spent, taken back and lapsed, by day. The sums follow the entries of the ledger at a distance, so that no
 * posting waits for a row that all would write.
 */
export class DayTotals {
  readonly #parts: DayTotalsParts

  constructor(parts: DayTotalsParts) {
    this.#parts = parts
  }

  /** Adds the entries that were written since the last time. Of two runs at once one goes on; what the signal cuts off, the next does. */
  async count(asset: string, signal?: AbortSignal): Promise<void> {
    const { db } = this.#parts
    while (!signal?.aborted && (await this.#page(asset))) {
      await nextTurn()
      await db.checkpointed()
    }
  }

  list(asset: string, window: PageWindow): Promise<FoundPage<DayRow>> {
    return findPage<DayRow>(this.#parts.db.fork(), DayRow, { asset }, window)
  }

  /** @returns whether more may be left */
  async #page(asset: string): Promise<boolean> {
    const { db, clock, ledger } = this.#parts
    const before = firstIdAt(clock.expiryNow() - settledMs)
    return db.statements(async () => {
      const [at] = await db.query<{ entry_id: unknown }>('select entry_id from points_day_position where asset = ?', [
        asset,
      ])
      if (at === undefined) await insertMissing(db, DayPositionRow, 'asset', [{ id: db.newId(), asset, entryId: 0 }])
      const after = exactInteger(at?.entry_id ?? 0)
      const moved = await ledger.moved(asset, { after, before, size: pageSize })
      const last = moved.at(-1)
      if (last === undefined) return false
      const isMine = await updateRows(db, DayPositionRow, { asset, entryId: after }, { entryId: last.id })
      if (isMine === 0) return false
      const rows = [...this.#sumsOf(moved)].sort(([a], [b]) => (a < b ? -1 : 1))
      await addToRows(
        db,
        DayRow,
        { key: ['asset', 'day'], sums: ways },
        rows.map(([day, sums]) => ({ ...sums, id: db.newId(), asset, day })),
      )
      return moved.length === pageSize
    })
  }

  #sumsOf(moved: readonly MovedUnits[]): ReadonlyMap<string, Record<Way, number>> {
    const sums = new Map<string, Record<Way, number>>()
    for (const { kind, units, createdAt } of moved) {
      if (units === 0) continue
      const day = this.#parts.calendar.dayOf(new Date(createdAt))
      const sum = sums.get(day) ?? { granted: 0, returned: 0, consumed: 0, reversed: 0, expired: 0 }
      sum[movedAs(kind, units)] += Math.abs(units)
      sums.set(day, sum)
    }
    return sums
  }
}
