import type { Database } from '../contract.ts'
import type { Parameter } from './bound-parameters.ts'
import { firstIdAt, idUnitsPerMs, timeOfId } from './id-source.ts'

/** A time range in milliseconds since the epoch. `to` is excluded. */
export interface TimeSpan {
  readonly from: number
  readonly to: number
}

export interface SumsOverTime<Name extends string> {
  /** Name of the table in snake_case, or several tables with their joins. */
  readonly table: string
  /**
   * Column with the time: ids of this database, or milliseconds since the epoch. An index must begin with this column,
   * or with columns that `where` fixes.
   */
  readonly time: { readonly id: string } | { readonly ms: string }
  readonly span: TimeSpan
  /** SQL condition with a `?` for each parameter. */
  readonly where?: { readonly sql: string; readonly parameters: readonly Parameter[] }
  /** Column or expression for whose values separate sums are returned, such as the currency of an amount. */
  readonly by?: string
  /** SQL expressions such as `count(*)` or `sum(amount)`, by name. Their values are integers. */
  readonly sums: Readonly<Record<Name, string>>
}

/** Sums of the rows of a quarter of an hour. */
export interface TimedSums<Name extends string> {
  /** Start of the quarter of an hour, in milliseconds since the epoch. */
  readonly at: number
  /** Value of the column `by`; empty without one. */
  readonly by: string
  readonly sums: Readonly<Record<Name, bigint>>
}

/** Every time zone begins its days at a multiple of this duration, so the sums can be added up to local days. */
const quarterMs = 900_000

/**
 * Counts or adds up rows over time. The database returns one row for each quarter of an hour that has rows, so the
 * result is small. The cost grows with the rows in the span, not with the table.
 */
export async function sumsOverTime<Name extends string>(
  db: Pick<Database, 'query' | 'dialect'>,
  { table, time, span, where = { sql: '1 = 1', parameters: [] }, by, sums }: SumsOverTime<Name>,
): Promise<readonly TimedSums<Name>[]> {
  const isId = 'id' in time
  const column = isId ? time.id : time.ms
  const size = isId ? quarterMs * idUnitsPerMs : quarterMs
  const bounds = [span.from, span.to].map((ms) => (isId ? firstIdAt(ms) : Math.floor(ms)))
  // As text, because drivers would round sums above 2^53.
  const text = db.dialect === 'mysql' ? 'char' : 'varchar(40)'
  const names = Object.keys(sums) as Name[]
  // PostgreSQL would change the names to lower case, so the sums are numbered.
  const selected = names.map((name, index) => `cast(coalesce(${sums[name]}, 0) as ${text}) as sum_${index}`)
  const rows = await db.query<Record<string, unknown>>(
    `select ${column} - ${column} % ${size} as quarter, ${by ?? "''"} as kind, ${selected.join(', ')} from ${table}
     where ${column} >= ? and ${column} < ? and ${where.sql} group by 1, 2`,
    [...bounds, ...where.parameters],
  )
  return rows.map((row) => ({
    at: isId ? timeOfId(Number(row['quarter'])) : Number(row['quarter']),
    by: String(row['kind'] ?? ''),
    sums: Object.fromEntries(names.map((name, index) => [name, BigInt(String(row[`sum_${index}`]))])) as Record<
      Name,
      bigint
    >,
  }))
}

/** Sums of one step of a time span. */
export interface StepSums<Name extends string> {
  /** A day as `YYYY-MM-DD`, or the start of an hour as a time in ISO 8601. */
  readonly at: string
  readonly by: string
  readonly sums: Readonly<Record<Name, bigint>>
}

const hourMs = 3_600_000
/** Longer spans have steps of one day. */
const maxHours = 48
/** No local day is shorter, even if the clock changes. */
const minDayMs = 22 * hourMs

/**
 * Adds up sums to the steps of a time span: hours for a span of at most 48 hours, otherwise local days. Steps without
 * rows have zeros, for each value of `by`.
 *
 * @param dayOf returns the local day of a time, as `YYYY-MM-DD`
 * @param always values of `by` that are returned even if they have no rows
 */
export function sumsByStep<Name extends string>(
  found: readonly TimedSums<Name>[],
  names: readonly Name[],
  {
    span,
    dayOf,
    always = [],
  }: {
    readonly span: TimeSpan
    readonly dayOf: (moment: Date) => string
    readonly always?: readonly string[]
  },
): readonly StepSums<Name>[] {
  const steps = stepsOf(span, dayOf)
  const groups = [...new Set([...always, ...found.map(({ by }) => by)])].sort()
  const sums = new Map<string, Record<Name, bigint>>()
  const keyOf = (at: string, by: string) => JSON.stringify([at, by])
  let position = 0
  for (const one of found.toSorted((a, b) => a.at - b.at)) {
    while ((steps[position + 1]?.from ?? Number.POSITIVE_INFINITY) <= one.at) position += 1
    const key = keyOf(steps[position]?.at ?? '', one.by)
    const sum = sums.get(key) ?? zeros(names)
    for (const name of names) sum[name] += one.sums[name]
    sums.set(key, sum)
  }
  return steps.flatMap(({ at }) => groups.map((by) => ({ at, by, sums: sums.get(keyOf(at, by)) ?? zeros(names) })))
}

const zeros = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, 0n])) as Record<Name, bigint>

/** A step of a time span. */
export interface Step {
  readonly at: string
  /** Milliseconds since the epoch. */
  readonly from: number
}

/** Returns true if the steps of a time span are hours, and false if they are local days. */
export const hasHourlySteps = ({ from, to }: TimeSpan): boolean => to - from <= maxHours * hourMs

/** Returns the steps of a time span in ascending order. */
export function stepsOf(span: TimeSpan, dayOf: (moment: Date) => string): readonly Step[] {
  const { from, to } = span
  const first = from - (from % quarterMs)
  if (hasHourlySteps(span)) {
    const hours = Math.max(1, Math.ceil((to - first) / hourMs))
    return Array.from({ length: hours }, (_, hour) => {
      const start = first + hour * hourMs
      return { at: new Date(start).toISOString(), from: start }
    })
  }
  const steps: Step[] = []
  for (let quarter = first; quarter < to; quarter += quarterMs) {
    const at = dayOf(new Date(quarter))
    if (steps.at(-1)?.at === at) continue
    steps.push({ at, from: quarter })
    if (steps.length > 1) quarter += minDayMs - quarterMs
  }
  return steps
}
