import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  exactInteger,
  type FoundPage,
  findPage,
  firstIdAt,
  insertMissingRows,
  insertOrAddToRows,
  type PageWindow,
  updateRows,
} from '@plinth/database'
import {
  count,
  filterQuery,
  id,
  type ListOrder,
  listPage,
  listQuery,
  listResponse,
  routesWith,
  Type,
  withDescription,
} from '@plinth/http'
import type { UnitChange } from '@plinth/money'
import { defaultAsset } from '../contract.ts'
import { permissionCodes } from '../declarations.ts'
import { DayPositionRow, DayRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { pointsAsset } from '../rules/rule-types.ts'

/** Ways in which points move, each a column of the daily totals. */
const ways = ['granted', 'returned', 'consumed', 'reversed', 'expired'] as const
type Way = (typeof ways)[number]

/**
 * Kinds of entries that return points without earning them, or take points without spending them. All other kinds grant
 * or consume points.
 */
const waysOfKinds: ReadonlyMap<string, Way> = new Map([
  ['money.reverse', 'returned'],
  ['points.expire', 'expired'],
  ...['points.refund', 'points.recover', 'points.adjust-deduct', 'points.forfeit'].map(
    (kind) => [kind, 'reversed'] as const,
  ),
])

/** @param units change of the account, negative for a decrease */
export const dayTotalKindOf = (kind: string, units: number): Way =>
  waysOfKinds.get(kind) ?? (units > 0 ? 'granted' : 'consumed')

type DayRouteDependencies = Pick<Parts, 'days'>

const dayView = Type.Object({
  id,
  day: Type.String({ description: 'Day in the time zone of the points programme, `YYYY-MM-DD`.' }),
  asset: Type.String(),
  granted: withDescription(count, 'Points granted. Points that were taken back are not subtracted.'),
  returned: withDescription(count, 'Points returned from cancelled or refunded orders.'),
  consumed: withDescription(count, 'Points spent.'),
  reversed: withDescription(count, 'Points taken back because of refunds or manual adjustments.'),
  expired: withDescription(count, 'Points that expired.'),
})

const filter = filterQuery(dayView, ['granted', 'returned', 'consumed', 'reversed', 'expired'])

const newestDayFirst: ListOrder = [{ property: 'day', direction: 'desc' }]

const { route } = routesWith<DayRouteDependencies>()

export const dayRoutes = [
  route({
    method: 'GET',
    path: '/api/v1/admin/member-points/days',
    summary: 'List points granted, returned, spent, revoked and expired by day, newest first',
    description: 'The last few minutes are not included yet.',
    access: { permission: permissionCodes.ledgerView, scope: 'all' },
    request: {
      query: Type.Object({ ...listQuery.properties, ...filter.properties, asset: Type.Optional(pointsAsset) }),
    },
    response: listPage(dayView),
    reasons: [],
    handler: ({ query }, { days }) =>
      listResponse(
        query,
        newestDayFirst,
        (window) => days.list(query.asset ?? defaultAsset, window),
        undefined,
        filter,
      ),
  }),
]

/** Maximum number of entries that one transaction adds. */
const pageSize = 2_000
/**
 * Delay before an entry is counted. By then, all earlier transactions have ended, even if the clocks of instances
 * differ.
 */
const settledMs = 600_000

type DayTotalsDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'calendar'>

/** Daily totals of points. They follow the postings with a delay, so that postings do not wait for a common row. */
export class DayTotals {
  readonly #parts: DayTotalsDependencies

  constructor(parts: DayTotalsDependencies) {
    this.#parts = parts
  }

  /** If two runs overlap, one of them stops. If a run is aborted, the next run continues its work. */
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

  /** @returns true if more entries may follow */
  async #page(asset: string): Promise<boolean> {
    const { db, clock, ledger } = this.#parts
    const before = firstIdAt(clock.expiryNow() - settledMs)
    return db.statements(async () => {
      const [at] = await db.query<{ entry_id: unknown }>('select entry_id from points_day_position where asset = ?', [
        asset,
      ])
      if (at === undefined)
        await insertMissingRows(db, DayPositionRow, 'asset', [{ id: db.newId(), asset, entryId: 0 }])
      const after = exactInteger(at?.entry_id ?? 0)
      const moved = await ledger.moved(asset, { after, before, size: pageSize })
      const last = moved.at(-1)
      if (last === undefined) return false
      const isMine = await updateRows(db, DayPositionRow, { asset, entryId: after }, { entryId: last.id })
      if (isMine === 0) return false
      const rows = [...this.#sumsOf(moved)].sort(([a], [b]) => (a < b ? -1 : 1))
      await insertOrAddToRows(
        db,
        DayRow,
        { key: ['asset', 'day'], sums: ways },
        rows.map(([day, sums]) => ({ ...sums, id: db.newId(), asset, day })),
      )
      return moved.length === pageSize
    })
  }

  #sumsOf(moved: readonly UnitChange[]): ReadonlyMap<string, Record<Way, number>> {
    const sums = new Map<string, Record<Way, number>>()
    for (const { kind, units, createdAt } of moved) {
      if (units === 0) continue
      const day = this.#parts.calendar.dayOf(new Date(createdAt))
      const sum = sums.get(day) ?? { granted: 0, returned: 0, consumed: 0, reversed: 0, expired: 0 }
      sum[dayTotalKindOf(kind, units)] += Math.abs(units)
      sums.set(day, sum)
    }
    return sums
  }
}
