import { type RuleSettings, usualCycle } from '../rules/rule-types.ts'

/** The last check-in of a member. */
export interface LastCheckIn {
  /** Local day, `YYYY-MM-DD`. */
  readonly day: string
  readonly streak: number
}

/** Calendar days from one local day to another: days of 23 and 25 hours count as one. */
export const daysBetween = (from: string, to: string): number => (dayNumber(to) - dayNumber(from)) / 86_400_000

function dayNumber(day: string): number {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return Date.UTC(year, month - 1, date)
}

/**
 * Days in a row with a check-in today, at least 1; `undefined` when there was one already, also on a later day: whoever moves
 * the programme to another time zone gives no second one.
 *
 * @param today local day, `YYYY-MM-DD`
 */
export function streakOn(today: string, last: LastCheckIn | undefined): number | undefined {
  if (last === undefined) return 1
  const passed = daysBetween(last.day, today)
  if (passed <= 0) return undefined
  return passed === 1 ? last.streak + 1 : 1
}

/** Points of a check-in: those of every day, and the extra ones of its day of the cycle (document 1, "Check-in"). */
export function checkInPoints(
  { points = 0, cycleDays = usualCycle, bonuses = [] }: RuleSettings,
  streak: number,
): number {
  const day = ((streak - 1) % cycleDays) + 1
  return points + bonuses.reduce((sum, bonus) => sum + (bonus.day === day ? bonus.points : 0), 0)
}
