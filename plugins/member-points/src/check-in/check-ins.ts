import { exactInteger, insertMissingRows } from '@plinth/database'
import { businessError } from '../declarations.ts'
import { CheckInRow } from '../entities.ts'
import { accountRefOf } from '../members/account.ts'
import type { Parts } from '../parts.ts'
import { defaultCycleDays, type RuleSettings } from '../rules/rule-types.ts'
import type { EffectiveRule } from '../rules/rules.ts'

export interface LastCheckIn {
  /** Day in the time zone of the programme, `YYYY-MM-DD`. */
  readonly day: string
  readonly streak: number
}

/** Number of days from one date to another. A day of 23 or 25 hours counts as one day. */
export const daysBetween = (from: string, to: string): number => (dayNumber(to) - dayNumber(from)) / 86_400_000

function dayNumber(day: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return Date.UTC(year, month - 1, date)
}

/**
 * Returns the number of consecutive days with a check-in, including today. Undefined if the last check-in was today or
 * later, because a change of the time zone must not allow a second one.
 *
 * @param today `YYYY-MM-DD`
 */
export function checkInStreakOn(today: string, last: LastCheckIn | undefined): number | undefined {
  if (last === undefined) return 1
  const passed = daysBetween(last.day, today)
  if (passed <= 0) return undefined
  return passed === 1 ? last.streak + 1 : 1
}

/** Daily points plus the bonus for this day of the cycle (document 1 of the specification, "Check-in"). */
export function checkInPoints(
  { points = 0, cycleDays = defaultCycleDays, bonuses = [] }: RuleSettings,
  streak: number,
): number {
  const day = ((streak - 1) % cycleDays) + 1
  return points + bonuses.reduce((sum, bonus) => sum + (bonus.day === day ? bonus.points : 0), 0)
}

const table = 'points_check_in'

export interface ProgrammeCalendar {
  /** IANA name of the time zone. */
  zone(): string
  /** Returns the day in this zone, `YYYY-MM-DD`. */
  dayOf(moment: Date): string
}

type CheckInDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'rules' | 'rewards' | 'calendar'>

interface CheckedIn {
  /** True if the member had already checked in. This call then granted no points. */
  readonly repeated: boolean
  readonly points: number
  /** The part of `points` that paid debts from refunds, and is not in the balance. */
  readonly settled: number
  readonly date: string
  readonly consecutiveDays: number
}

interface CheckInMonth {
  /** `YYYY-MM`. */
  readonly month: string
  /** `YYYY-MM-DD` in the time zone of the programme. */
  readonly today: string
  readonly days: readonly { readonly date: string; readonly points: number; readonly consecutiveDays: number }[]
}

/** Daily check-ins with a bonus for consecutive days (document 1 of the specification, "Check-in"). */
export class CheckIns {
  readonly #parts: CheckInDependencies

  constructor(parts: CheckInDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError `409` `member-points.rule-disabled` */
  async checkIn(userId: number): Promise<CheckedIn> {
    const { db, clock, rules, calendar, ledger } = this.#parts
    const rule = await rules.at('check-in', clock.now())
    return ledger.transactional([accountRefOf(userId, rule.asset)], async () => {
      const now = clock.now()
      if (!rule.enabled) throw businessError('rule-disabled', { data: { code: rule.code } })
      const date = calendar.dayOf(new Date(now))
      const last = await this.#lockLast(userId)
      const streak = checkInStreakOn(date, last)
      const id = db.newId()
      const points = streak === undefined ? 0 : checkInPoints(rule.config, streak)
      if (streak !== undefined) {
        const zone = calendar.zone()
        const row = { id, userId, checkDate: date, zone, consecutiveDays: streak, points, createdAt: new Date(now) }
        await insertMissingRows(db, CheckInRow, ['userId', 'checkDate'], [row])
      }
      const kept = await this.#find(userId, streak === undefined ? (last?.day ?? date) : date)
      const isNew = kept?.id === id
      const granted =
        isNew && points > 0 ? await this.#grant({ id, userId, date, points, rule }) : { points: 0, settled: 0 }
      return { repeated: !isNew, ...granted, date, consecutiveDays: kept?.streak ?? 1 }
    })
  }

  /** Locks the last check-in, so that no other transaction adds one. */
  async #lockLast(userId: number): Promise<LastCheckIn | undefined> {
    for (let last = await this.last(userId); ; ) {
      if (last === undefined) return undefined
      await this.#parts.db.execute(`update ${table} set user_id = user_id where user_id = ? and check_date = ?`, [
        userId,
        last.day,
      ])
      // Another transaction may have added a newer check-in before this one got the lock.
      const found = await this.last(userId)
      if (found?.day === last.day) return found
      last = found
    }
  }

  async last(userId: number): Promise<LastCheckIn | undefined> {
    const [row] = await this.#parts.db.query<Record<string, unknown>>(
      `select check_date, consecutive_days from ${table} where user_id = ? order by check_date desc limit 1`,
      [userId],
    )
    if (row === undefined) return undefined
    return { day: String(row['check_date']), streak: exactInteger(row['consecutive_days']) }
  }

  /** @param month `YYYY-MM`; default: the current month */
  async month(userId: number, month?: string): Promise<CheckInMonth> {
    const { db, clock, calendar } = this.#parts
    const today = calendar.dayOf(new Date(clock.now()))
    const shown = month ?? today.slice(0, 7)
    const rows = await db.query<Record<string, unknown>>(
      `select check_date, points, consecutive_days from ${table}
       where user_id = ? and check_date >= ? and check_date <= ? order by check_date`,
      [userId, `${shown}-01`, `${shown}-31`],
    )
    const days = rows.map((row) => ({
      date: String(row['check_date']),
      points: exactInteger(row['points']),
      consecutiveDays: exactInteger(row['consecutive_days']),
    }))
    return { month: shown, today, days }
  }

  async #find(userId: number, date: string) {
    const [row] = await this.#parts.db.query<Record<string, unknown>>(
      `select id, consecutive_days from ${table} where user_id = ? and check_date = ?`,
      [userId, date],
    )
    return row && { id: exactInteger(row['id']), streak: exactInteger(row['consecutive_days']) }
  }

  async #grant(made: { id: number; userId: number; date: string; points: number; rule: EffectiveRule }) {
    const { id, userId, date, points, rule } = made
    const key = `check-in:${userId}:${date}`
    const granted = await this.#parts.rewards.grant({
      userId,
      rule,
      points,
      key: `member-points:${key}`,
      kind: 'points.check-in',
      source: { type: 'check-in', key: `${userId}:${date}` },
      reference: { type: 'check-in', id: date },
    })
    const gained = granted === undefined ? 0 : points
    await this.#parts.db.execute(`update ${table} set journal_id = ?, points = ? where id = ?`, [
      granted?.journalId ?? null,
      gained,
      id,
    ])
    return { points: gained, settled: granted?.settled ?? 0 }
  }
}
