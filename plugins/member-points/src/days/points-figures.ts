import {
  exactInteger,
  hasHourlySteps,
  type StepSums,
  stepsOf,
  sumsByStep,
  type TimedSums,
  type TimeSpan,
} from '@plinth/database'
import { defaultAsset } from '../contract.ts'
import type { Parts } from '../parts.ts'
import { dayTotalKindOf } from './day-totals.ts'

/** Ways that the figures contain. */
const shown = ['granted', 'consumed', 'expired'] as const
type Shown = (typeof shown)[number]

type PointsFiguresDependencies = Pick<Parts, 'db' | 'ledger' | 'calendar' | 'isConfirmedAsset'>

/**
 * Points over time. Whole days come from the daily totals. The ledger is only read for the first and the last day of a
 * time span, and for entries that the daily totals do not include yet. So the cost does not grow with the time span.
 */
export class PointsFigures {
  readonly #parts: PointsFiguresDependencies

  constructor(parts: PointsFiguresDependencies) {
    this.#parts = parts
  }

  /** Returns the sums of each step for each asset. */
  async over(span: TimeSpan): Promise<readonly StepSums<Shown>[]> {
    const { ledger, calendar, isConfirmedAsset } = this.#parts
    const assets = [...ledger.assets.keys()].filter(isConfirmedAsset)
    const found = await Promise.all(assets.map((asset) => this.#ofAsset(asset, span)))
    return sumsByStep(found.flat(), shown, { span, dayOf: calendar.dayOf, always: [defaultAsset] })
  }

  async #ofAsset(asset: string, span: TimeSpan): Promise<readonly TimedSums<Shown>[]> {
    const steps = stepsOf(span, this.#parts.calendar.dayOf)
    const [first, last] = [steps[1], steps.at(-1)]
    // There are no totals of hours, and a span of two days has no whole day between the first and the last.
    if (hasHourlySteps(span) || first === undefined || last === undefined || first === last)
      return this.#moved(asset, span)
    const position = await this.#position(asset)
    const days = new Map(steps.map(({ at, from }) => [at, from]))
    const [totals, ...moved] = await Promise.all([
      this.#totals(asset, first.at, last.at),
      this.#moved(asset, { from: span.from, to: first.from }),
      this.#moved(asset, { from: first.from, to: last.from }, position),
      this.#moved(asset, { from: last.from, to: span.to }),
    ])
    return [...totals.map(({ day, sums }) => ({ at: days.get(day) ?? 0, by: asset, sums })), ...moved.flat()]
  }

  /** Reads the daily totals from a day (included) to another (excluded). */
  async #totals(asset: string, from: string, to: string) {
    const rows = await this.#parts.db.query<Record<Shown | 'day', unknown>>(
      'select day, granted, consumed, expired from points_day where asset = ? and day >= ? and day < ?',
      [asset, from, to],
    )
    return rows.map(({ day, granted, consumed, expired }) => ({
      day: String(day),
      sums: { granted: big(granted), consumed: big(consumed), expired: big(expired) },
    }))
  }

  /** Returns the id of the last ledger entry that the daily totals include. */
  async #position(asset: string): Promise<number> {
    const sql = 'select entry_id from points_day_position where asset = ?'
    const [row] = await this.#parts.db.query<{ entry_id: unknown }>(sql, [asset])
    return exactInteger(row?.entry_id ?? 0)
  }

  /** Adds up ledger entries. @param after only entries with a larger id */
  async #moved(asset: string, span: TimeSpan, after = 0): Promise<readonly TimedSums<Shown>[]> {
    if (span.from >= span.to) return []
    const moved = await this.#parts.ledger.movedOverTime(asset, span, after)
    return moved.flatMap(({ at, kind, received, taken }) =>
      (
        [
          [1, received],
          [-1, taken],
        ] as const
      ).flatMap(([sign, units]) => {
        const way = dayTotalKindOf(kind, sign)
        if (units === 0n || way === 'returned' || way === 'reversed') return []
        return [{ at, by: asset, sums: { granted: 0n, consumed: 0n, expired: 0n, [way]: units } }]
      }),
    )
  }
}

const big = (value: unknown) => BigInt(exactInteger(value))
