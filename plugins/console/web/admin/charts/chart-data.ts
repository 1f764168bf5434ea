import { type Chart, type Row, type Rows, rowsOf, type Tone, valueAt } from '../api/page-types.ts'

/** Lines that one plot can show; those with the most are drawn. */
const mostDrawn = 12

/** One line of a chart. */
export interface ChartLine {
  readonly key: string
  readonly title: string
  readonly tone: Tone
  /** Which of several lines of one colour it is. */
  readonly turn: number
  /** One for each moment; null where nothing is known. */
  readonly values: readonly (number | null)[]
  readonly sum: number
  readonly last: number
}

export interface ChartData {
  /** Milliseconds since the epoch, rising. */
  readonly moments: readonly number[]
  /** Whether the moments are days of the site. */
  readonly isDaily: boolean
  /** All of them, those that are drawn first. */
  readonly lines: readonly ChartLine[]
  readonly drawn: number
}

const tones: readonly Tone[] = ['info', 'good', 'warn', 'bad', 'quiet']

/** The numbers of a chart in what its operation answered. */
export function chartData(chart: Chart, answer: Rows | readonly Row[]): ChartData {
  const rows = rowsOf(answer).items
  const isDaily = rows.some((row) => /^\d{4}-\d{2}-\d{2}$/.test(String(valueAt(row, chart.at))))
  const timed = rows.flatMap((row) => {
    const moment = Date.parse(String(valueAt(row, chart.at)))
    const group = chart.by === undefined ? '' : String(valueAt(row, chart.by) ?? '')
    return Number.isNaN(moment) ? [] : [{ row, moment, group }]
  })
  const moments = [...new Set(timed.map(({ moment }) => moment))].sort((a, b) => a - b)
  const places = new Map(moments.map((moment, place) => [moment, place]))
  const groups = [...new Set(timed.map(({ group }) => group))].sort()
  const lines = groups.flatMap((group, turn) =>
    chart.lines.map(({ field, title, tone }, index) => {
      const values: (number | null)[] = moments.map(() => null)
      for (const { row, moment } of timed.filter((one) => one.group === group)) {
        const place = places.get(moment) ?? 0
        values[place] = (values[place] ?? 0) + Number(valueAt(row, field) ?? 0)
      }
      const known = values.filter((value) => value !== null)
      return {
        key: `${group} ${field}`,
        title: titleOf(chart, group, title),
        tone: tone ?? tones[(chart.lines.length === 1 ? turn : index) % tones.length] ?? 'info',
        ...{ turn, values, sum: known.reduce((sum, value) => sum + value, 0), last: known.at(-1) ?? 0 },
      }
    }),
  )
  if (lines.length <= mostDrawn) return { moments, isDaily, lines, drawn: lines.length }
  return { moments, isDaily, lines: lines.sort((a, b) => b.sum - a.sum), drawn: mostDrawn }
}

function titleOf({ by, labels, lines }: Chart, group: string, title: string): string {
  if (by === undefined) return title
  const name = labels[group] ?? group
  return lines.length === 1 ? name : `${name} · ${title}`
}
