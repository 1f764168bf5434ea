import type { AmountUnit, Chart, Tone } from '../api/page-types.ts'
import { labelOf, type Row, type Rows, rowsOf, valueAt } from '../api/row-values.ts'
import { unitOf } from '../pages/amounts.ts'

/** Maximum number of lines in one plot. Only the lines with the largest sums are drawn. */
const maxDrawn = 12

/** One line of a chart. */
interface ChartLine {
  readonly key: string
  readonly title: string
  readonly tone: Tone
  /** Position of the line among the lines with the same colour. */
  readonly turn: number
  /** One value for each time; null if the value is unknown. */
  readonly values: readonly (number | null)[]
  /** For amounts: the unit of the values. */
  readonly amount: AmountUnit | undefined
  readonly sum: number
  readonly last: number
}

export interface ChartData {
  /** Times in milliseconds since the epoch, in ascending order. */
  readonly moments: readonly number[]
  /** True if the times are days of the site. */
  readonly isDaily: boolean
  /** All lines. The lines that are drawn come first. */
  readonly lines: readonly ChartLine[]
  readonly drawn: number
}

const tones: readonly Tone[] = ['info', 'good', 'warn', 'bad', 'quiet']

/** Creates the chart data from the response of the operation. Amounts of different assets are separate lines. */
export function chartData(
  chart: Chart,
  response: Rows | readonly Row[],
  units: Readonly<Record<string, AmountUnit>> = {},
): ChartData {
  const rows = rowsOf(response).items
  const isDaily = rows.some((row) => /^\d{4}-\d{2}-\d{2}$/.test(String(valueAt(row, chart.at))))
  const timed = rows.flatMap((row) => {
    const moment = Date.parse(String(valueAt(row, chart.at)))
    const group = chart.by === undefined ? '' : String(valueAt(row, chart.by) ?? '')
    const code = chart.currency === undefined ? '' : String(valueAt(row, chart.currency) ?? '')
    return Number.isNaN(moment) ? [] : [{ row, moment, group, code, key: JSON.stringify([group, code]) }]
  })
  const moments = [...new Set(timed.map(({ moment }) => moment))].sort((a, b) => a - b)
  const places = new Map(moments.map((moment, place) => [moment, place]))
  const groups = [...Map.groupBy(timed, ({ key }) => key)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, rows]) => rows)
  const codes = new Set(timed.map(({ code }) => code))
  const lines = groups.flatMap((rows, turn) => {
    const { group = '', code = '' } = rows[0] ?? {}
    const amount = chart.currency === undefined ? undefined : unitOf(units, code)
    const inUnit = 10 ** (amount?.scale ?? 0)
    return chart.lines.map(({ field, title, tone }, index) => {
      const values: (number | null)[] = moments.map(() => null)
      for (const { row, moment } of rows) {
        const place = places.get(moment) ?? 0
        values[place] = (values[place] ?? 0) + Number(valueAt(row, field) ?? 0) / inUnit
      }
      const known = values.filter((value) => value !== null)
      return {
        key: `${group} ${code} ${field}`,
        title: `${titleOf(chart, group, title)}${codes.size > 1 ? ` · ${amount?.displayName ?? code}` : ''}`,
        tone: tone ?? tones[(chart.lines.length === 1 ? turn : index) % tones.length] ?? 'info',
        turn,
        values,
        amount,
        sum: known.reduce((sum, value) => sum + value, 0),
        last: known.at(-1) ?? 0,
      }
    })
  })
  if (lines.length <= maxDrawn) return { moments, isDaily, lines, drawn: lines.length }
  return { moments, isDaily, lines: lines.sort((a, b) => b.sum - a.sum), drawn: maxDrawn }
}

function titleOf({ by, labels, lines }: Chart, group: string, title: string): string {
  if (by === undefined) return title
  const name = labelOf({ labels }, group) ?? group
  return lines.length === 1 ? name : `${name} · ${title}`
}
