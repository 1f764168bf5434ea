import { NativeSelect, SegmentedControl } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import { useSpeech } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Chart, Row, Rows } from '../api/page-types.ts'
import { LoadFailure, Waiting } from '../pages/load-state.tsx'
import { useFormats } from '../pages/shown-value.ts'
import { useSite } from '../shell/site-context.ts'
import { type ChartData, chartData } from './chart-data.ts'
import classes from './charts.module.css'
import { dashOf, Plot } from './plot.tsx'

/** Shows the numbers of a chart as a table, the newest first. Screen readers read this table. */
function NumberTable({ chart, data }: { readonly chart: Chart; readonly data: ChartData }) {
  const { translate } = useSpeech()
  const formats = useFormats()
  const [isOpen, setOpen] = useState(false)
  const name = translate('admin.chart.table-of', { title: chart.title })
  return (
    <details className={classes.details} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={name}>{translate('admin.chart.table')}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
        <section className={classes.scroll} tabIndex={0} aria-label={name}>
          <table>
            <thead>
              <tr>
                <th scope="col">{translate('admin.chart.time')}</th>
                {data.lines.map(({ key, title }) => (
                  <th key={key} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.moments
                .map((moment, place) => (
                  <tr key={moment}>
                    <th scope="row">
                      {data.isDaily ? formats.day(new Date(moment), true) : formats.second(new Date(moment))}
                    </th>
                    {data.lines.map(({ key, values, amount }) => {
                      const value = values[place]
                      return (
                        <td key={key}>{typeof value === 'number' ? formats.chart(value, chart.unit, amount) : '–'}</td>
                      )
                    })}
                  </tr>
                ))
                .toReversed()}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}

/** Poll interval while the page is visible. */
const everyMs = 30_000

/** Origin of the counts of a chart: the time at which they begin, and the instances that were asked for them. */
interface Counted {
  readonly since?: string | null
  readonly instances?: readonly { readonly instance: string; readonly answered: boolean }[]
}

/** One chart: a plot, and the same numbers as a table. */
function ChartCard({ chart }: { readonly chart: Chart }) {
  const { translate } = useSpeech()
  const api = useApi()
  const formats = useFormats()
  const heading = useId()
  const [chosen, setChosen] = useState(chart.ranges[0]?.id)
  const range = chart.ranges.find(({ id }) => id === chosen) ?? chart.ranges[0]
  const [of, setOf] = useState('')
  const query = of === '' ? (range?.query ?? {}) : { ...range?.query, instance: of }
  const response = useQuery({
    queryKey: [chart.path, query],
    queryFn: ({ signal }) => api.call<(Rows & Counted) | readonly Row[]>(chart, { query, signal }),
    refetchInterval: everyMs,
    placeholderData: (last) => last,
  })
  const { units } = useSite()
  const data = useMemo(() => response.data && chartData(chart, response.data, units), [chart, response.data, units])
  const { since, instances = [] } = (response.data ?? {}) as Counted
  return (
    <section className={classes.card} aria-labelledby={heading} aria-busy={response.isPending}>
      <header className={classes.head}>
        <div>
          <h2 id={heading}>{chart.title}</h2>
          {chart.lead !== undefined && <p className={classes.lead}>{chart.lead}</p>}
        </div>
        {chart.ranges.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={translate('admin.chart.range', { title: chart.title })}
            value={range?.id ?? ''}
            onChange={setChosen}
            data={chart.ranges.map(({ id, title }) => ({ value: id, label: title }))}
          />
        )}
      </header>
      {response.error !== null && <LoadFailure error={response.error} onRetry={() => void response.refetch()} />}
      {data === undefined && response.error === null && <Waiting lines={1} height={180} />}
      {data !== undefined && data.lines.length === 0 && (
        <p className={classes.empty}>{translate('admin.chart.nothing')}</p>
      )}
      {data !== undefined && data.lines.length > 0 && <Shown chart={chart} data={data} />}
      <Source instances={instances} of={of} time={typeof since === 'string' ? formats.time(since) : undefined} />
      {instances.length > 1 && (
        <NativeSelect
          size="xs"
          className={classes.picker}
          aria-label={translate('admin.chart.instance', { title: chart.title })}
          value={of}
          onChange={(event) => setOf(event.currentTarget.value)}
          data={[
            { value: '', label: translate('admin.chart.all-instances', { count: instances.length }) },
            ...instances.map(({ instance }) => ({ value: instance, label: hostOf(instance) })),
          ]}
        />
      )}
    </section>
  )
}

/** Returns the part of the id of an instance that users know: host and process, without the random part. */
const hostOf = (instance: string) => instance.split(':').slice(0, 2).join(' · ')

interface SourceProps extends Required<Pick<Counted, 'instances'>> {
  /** The selected instance; empty for all instances. */
  readonly of: string
  /** Time when the counts begin. */
  readonly time: string | undefined
}

/** Shows which instances the displayed data comes from, and which instances did not respond. */
function Source({ instances, of, time }: SourceProps) {
  const { translate, language } = useSpeech()
  const shown = instances.filter(({ instance, answered }) => answered && (of === '' || instance === of))
  const silent = instances.filter(({ answered }) => !answered).map(({ instance }) => hostOf(instance))
  const [only] = shown
  return (
    <>
      {only !== undefined && time !== undefined && (
        <p className={classes.source}>
          {shown.length === 1
            ? translate('admin.chart.source', { instance: hostOf(only.instance), time })
            : translate('admin.chart.joined', { count: shown.length, time })}
        </p>
      )}
      {silent.length > 0 && (
        <p className={classes.silent} role="status">
          {translate('admin.chart.silent', { instances: new Intl.ListFormat(language).format(silent) })}
        </p>
      )}
    </>
  )
}

function Shown({ chart, data }: { readonly chart: Chart; readonly data: ChartData }) {
  const { translate } = useSpeech()
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
      <Plot data={data} unit={chart.unit} onPoint={setPointed} />
      {data.lines.length > data.drawn && (
        <p className={classes.source}>{translate('admin.chart.more', { count: data.lines.length - data.drawn })}</p>
      )}
      <NumberTable chart={chart} data={data} />
    </>
  )
}

export default function Charts({ charts }: { readonly charts: readonly Chart[] }) {
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <ChartCard key={chart.id} chart={chart} />
      ))}
    </div>
  )
}
