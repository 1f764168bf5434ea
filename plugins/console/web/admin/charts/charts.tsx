import { SegmentedControl } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useContext, useEffect, useId, useMemo, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import { readLabelName } from '../api/labels.ts'
import type { Chart } from '../api/page-types.ts'
import { type Row, type Rows, rowsOf, valueAt } from '../api/row-values.ts'
import { queryOf, RangeContext, spansOf } from '../overview/overview-range.ts'
import { LoadState } from '../pages/load-state.tsx'
import { useFormats } from '../pages/shown-value.ts'
import { useSite } from '../shell/site-context.ts'
import { type ChartData, chartData } from './chart-data.ts'
import classes from './charts.module.css'
import type { ChartsProps } from './lazy-charts.tsx'
import { type Counted, NumberTable, Silent, Source } from './number-table.tsx'
import { dashOf, Plot } from './plot.tsx'

/** Poll interval while the page is visible. */
const everyMs = 30_000

type Response = (Rows & Counted) | readonly Row[]

/** Returns the chart with the names of the objects that its lines stand for. */
function useNamed(chart: Chart, response: Response | undefined): Chart {
  const api = useApi()
  const { language } = useLanguage()
  const { by = '', names: kind } = chart
  const rows = kind === undefined || response === undefined ? [] : rowsOf(response).items
  const ids = [...new Set(rows.map((row) => String(valueAt(row, by) ?? '')))]
  const labels = useQueries({
    queries: ids.map((id) => ({
      queryKey: ['label', kind, id, language],
      queryFn: () => readLabelName(api, kind ?? '', id, language),
      staleTime: 5 * 60_000,
      retry: false,
    })),
    combine: (found) => Object.fromEntries(found.flatMap(({ data }, index) => (data ? [[ids[index], data]] : []))),
  })
  return useMemo(() => ({ ...chart, labels: { ...chart.labels, ...labels } }), [chart, labels])
}

/** Removes the lines of units that have only zeros, if another unit has numbers. */
function withoutUnusedUnits(data: ChartData): ChartData {
  const used = new Set(data.lines.flatMap(({ amount, sum }) => (sum === 0 ? [] : [amount])))
  const lines = used.size === 0 ? data.lines : data.lines.filter(({ amount }) => used.has(amount))
  return { ...data, lines, drawn: Math.min(data.drawn, lines.length) }
}

interface ChartCardProps {
  readonly chart: Chart
  readonly span: string | undefined
  readonly heading: 'h2' | 'h3'
  /** Called when the chart gets its first numbers, or has none. An empty chart is hidden. */
  onEmpty(id: string, isEmpty: boolean): void
}

/** One chart: a plot, and the same numbers as a table. */
function ChartCard({ chart: declared, span, heading: Heading, onEmpty }: ChartCardProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const formats = useFormats()
  const heading = useId()
  const { units, timeZone } = useSite()
  const common = useContext(RangeContext)
  const [chosen, setChosen] = useState(declared.ranges[0]?.id)
  const ofSpan = (id: string | undefined) => declared.ranges.find((one) => one.id === id)
  const range = ofSpan(span) ?? ofSpan(chosen) ?? declared.ranges[0]
  const [of, setOf] = useState('')
  const fixed = of === '' ? (range?.query ?? {}) : { ...range?.query, instance: of }
  const follows = declared.follows === 'range'
  const response = useQuery({
    // The limits of a preset move with the time, so the key contains the preset.
    queryKey: [declared.path, fixed, ...(follows ? [common] : [])],
    queryFn: ({ signal }) => {
      const query = follows ? { ...fixed, ...queryOf(spansOf(common, Date.now(), timeZone).now) } : fixed
      return api.call<Response>(declared, { query, signal })
    },
    refetchInterval: everyMs,
    placeholderData: (last) => last,
  })
  const chart = useNamed(declared, response.data)
  const data = useMemo(
    () => response.data && withoutUnusedUnits(chartData(chart, response.data, units)),
    [chart, response.data, units],
  )
  const { since, instances = [] } = (response.data ?? {}) as Counted
  const time = typeof since === 'string' ? formats.time(since) : undefined
  const isEmpty =
    data !== undefined &&
    (data.lines.length === 0 || (data.lines.every(({ sum }) => sum === 0) && (chart.as === 'share' || follows)))
  useEffect(() => onEmpty(declared.id, isEmpty), [declared.id, isEmpty, onEmpty])
  if (isEmpty && instances.length === 0) return null
  return (
    <section className={classes.card} aria-labelledby={heading} aria-busy={response.isPending}>
      <header className={classes.head}>
        <div>
          <Heading id={heading}>{chart.title}</Heading>
          {chart.lead !== undefined && <p className={classes.lead}>{chart.lead}</p>}
        </div>
        {span === undefined && chart.ranges.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={translate('admin.chart.range', { title: chart.title })}
            value={range?.id ?? ''}
            onChange={setChosen}
            data={chart.ranges.map(({ id, title }) => ({ value: id, label: title }))}
          />
        )}
      </header>
      <LoadState of={response} lines={1} height={180} />
      {data !== undefined && !isEmpty && chart.as === 'share' && <Share chart={chart} data={data} />}
      {data !== undefined && !isEmpty && chart.as !== 'share' && (
        <Shown chart={chart} data={data}>
          <Source title={chart.title} instances={instances} of={of} time={time} onChoose={setOf} />
        </Shown>
      )}
      <Silent instances={instances} />
    </section>
  )
}

interface ShownProps {
  readonly chart: Chart
  readonly data: ChartData
  /** Content below the table of numbers. */
  readonly children: ReactNode
}

function Shown({ chart, data, children }: ShownProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const [pointed, setPointed] = useState<number>()
  const moment = pointed === undefined ? undefined : data.moments[pointed]
  const drawn = data.lines.slice(0, data.drawn)
  return (
    <>
      <ul className={classes.legend}>
        {drawn.map(({ key, title, tone, turn, values, amount, sum, last }) => {
          const shown = moment === undefined ? (chart.unit === undefined ? sum : last) : values[pointed ?? 0]
          return (
            <li key={key}>
              <svg className={classes.mark} data-tone={tone} viewBox="0 0 20 4" aria-hidden="true">
                <line x1="0" y1="2" x2="20" y2="2" strokeDasharray={dashOf(turn).join(' ')} />
              </svg>
              {title} <strong>{typeof shown === 'number' ? formats.chart(shown, chart.unit, amount) : '–'}</strong>
            </li>
          )
        })}
        {moment !== undefined && (
          <li className={classes.moment}>
            {data.isDaily ? formats.day(new Date(moment), true) : formats.clock(new Date(moment))}
          </li>
        )}
      </ul>
      <Plot data={data} unit={chart.unit} isBar={chart.as === 'bar'} onPoint={setPointed} />
      {data.lines.length > data.drawn && (
        <p className={classes.source}>{translate('admin.chart.more', { count: data.lines.length - data.drawn })}</p>
      )}
      <NumberTable chart={chart} data={data}>
        {children}
      </NumberTable>
    </>
  )
}

export default function Charts({ charts, span, heading = 'h2' }: ChartsProps) {
  const { translate } = useLanguage()
  const [empty, setEmpty] = useState<readonly string[]>([])
  const onEmpty = useCallback(
    (id: string, isEmpty: boolean) =>
      setEmpty((last) => [...last.filter((one) => one !== id), ...(isEmpty ? [id] : [])]),
    [],
  )
  const titles = charts.filter(({ id }) => empty.includes(id)).map(({ title }) => title)
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <ChartCard key={chart.id} {...{ chart, span, heading, onEmpty }} />
      ))}
      {titles.length > 0 && (
        <p className={classes.empty}>{translate('admin.chart.nothing', { titles: titles.join(', ') })}</p>
      )}
    </div>
  )
}

/** Maximum number of parts. Only the largest ones are shown. */
const maxParts = 8

/** Shows the parts of a sum as bars with their numbers, the largest first. Parts of different units are separate sums. */
function Share({ chart, data }: { readonly chart: Chart; readonly data: ChartData }) {
  const formats = useFormats()
  const parts = data.lines.filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum)
  const whole = (unit: ChartData['lines'][number]['amount']) =>
    parts.filter(({ amount }) => amount === unit).reduce((sum, part) => sum + part.sum, 0)
  return (
    <ul className={classes.parts}>
      {parts.slice(0, maxParts).map(({ key, title, tone, sum, amount }) => {
        const percent = (sum / whole(amount)) * 100
        return (
          <li key={key}>
            <span className={classes.part}>{title}</span>
            <span>
              <strong>{formats.chart(sum, chart.unit, amount)}</strong> {formats.count(Math.round(percent), 'percent')}
            </span>
            <svg className={classes.track} data-tone={tone} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden>
              <rect width="100" height="4" />
              <rect width={percent} height="4" />
            </svg>
          </li>
        )
      })}
    </ul>
  )
}
