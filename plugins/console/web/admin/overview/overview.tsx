import { SegmentedControl } from '@mantine/core'
import { useDeferredValue, useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { charts } from '../api/operations.ts'
import type { Chart, Tile } from '../api/page-types.ts'
import { useOperation } from '../api/use-operation.ts'
import { LazyCharts } from '../charts/lazy-charts.tsx'
import { LoadFailure, Waiting } from '../pages/load-state.tsx'
import { useFormats } from '../pages/shown-value.ts'
import { TimeFilter } from '../pages/time-filter.tsx'
import { isPreset, rangeIn, type TimeRange } from '../pages/time-range.ts'
import { useSite } from '../shell/site-context.ts'
import classes from './overview.module.css'
import {
  defaultRange,
  isOverviewPreset,
  maxRangeDays,
  overviewPresets,
  RangeContext,
  type Span,
  spansOf,
} from './overview-range.ts'
import { Tiles } from './tiles.tsx'

interface RangeChoiceProps {
  readonly range: TimeRange
  onChange(range: TimeRange): void
}

/** Lets the user choose the range of the overview: a preset of whole days, or two exact times. */
function RangeChoice({ range, onChange }: RangeChoiceProps) {
  const { translate } = useLanguage()
  const { timeZone } = useSite()
  const formats = useFormats(timeZone)
  const isPreset = isOverviewPreset(range.from)
  const spans = spansOf(range, Date.now(), timeZone)
  const text = (span: Span) => formats.days(new Date(span.from), new Date(Math.max(span.from, span.to - 1)))
  return (
    <div className={classes.range}>
      <SegmentedControl
        aria-label={translate('admin.overview.range')}
        value={isPreset ? range.from : ''}
        onChange={(from) => onChange({ from, to: '' })}
        data={overviewPresets.map((preset) => ({ value: preset, label: translate(`admin.time.${preset}`) }))}
      />
      <TimeFilter
        title={translate('admin.overview.exact')}
        range={isPreset ? { from: '', to: '' } : range}
        presets={[]}
        maxDays={maxRangeDays}
        onChange={onChange}
      />
      <p className={classes.spans}>
        {translate('admin.overview.compared', { now: text(spans.now), before: text(spans.before), zone: timeZone })}
      </p>
    </div>
  )
}

/** Reads the tiles and charts of the overview that this user may see. */
const useFigures = () =>
  useOperation<{ items: readonly Chart[]; tiles: readonly Tile[] }>(charts, {
    staleTime: 5 * 60_000,
  })

/** The tiles that say whether something is wrong now. They have no time range. */
export function StateTiles() {
  const { data, isPending } = useFigures()
  if (isPending) return <Waiting lines={1} height={80} />
  return <Tiles tiles={(data?.tiles ?? []).filter(({ range }) => range !== true)} />
}

/** The tiles and charts that this user may see: first those of the business, then those of the system. */
export function OverviewFigures() {
  const declared = useFigures()
  // The figures are deferred, so that they do not start their calls in the same task as the other tiles.
  const { items = [], tiles = [] } = useDeferredValue(declared.data) ?? {}
  if (declared.error !== null) return <LoadFailure error={declared.error} onRetry={() => void declared.refetch()} />
  return (
    <>
      <Business
        tiles={tiles.filter(({ range }) => range === true)}
        charts={items.filter(({ follows }) => follows === 'range')}
      />
      <System charts={items.filter(({ follows }) => follows !== 'range')} />
    </>
  )
}

interface FiguresProps {
  readonly tiles: readonly Tile[]
  readonly charts: readonly Chart[]
}

/** The business figures. All of them follow the range in the address of the page. */
function Business({ tiles, charts }: FiguresProps) {
  const { translate } = useLanguage()
  const [params, setParams] = useSearchParams()
  const range = useMemo(() => {
    const { from, to } = rangeIn(params)
    return (from === '' && to === '') || (isPreset(from) && !isOverviewPreset(from)) ? defaultRange : { from, to }
  }, [params])
  const choose = ({ from, to }: TimeRange) => {
    const next = { ...(from === '' ? {} : { from }), ...(to === '' ? {} : { to }) }
    setParams(new URLSearchParams(next), { replace: true })
  }
  if (tiles.length === 0 && charts.length === 0) return null
  return (
    <section className={classes.section} aria-label={translate('admin.overview.business')}>
      <header className={classes.head}>
        <h2>{translate('admin.overview.business')}</h2>
        <RangeChoice range={range} onChange={choose} />
      </header>
      <RangeContext value={range}>
        <Tiles tiles={tiles} heading="h3" />
        <LazyCharts charts={charts} heading="h3" />
      </RangeContext>
    </section>
  )
}

/** The state of the system. One switch sets the time span of all charts. */
function System({ charts }: Pick<FiguresProps, 'charts'>) {
  const { translate } = useLanguage()
  const spans = charts.find(({ ranges }) => ranges.length > 1)?.ranges ?? []
  const [span, setSpan] = useState<string>()
  if (charts.length === 0) return null
  return (
    <section className={classes.section} aria-label={translate('admin.overview.system')}>
      <header className={classes.head}>
        <h2>{translate('admin.overview.system')}</h2>
        {spans.length > 0 && (
          <SegmentedControl
            aria-label={translate('admin.overview.span')}
            value={span ?? spans[0]?.id ?? ''}
            onChange={setSpan}
            data={spans.map(({ id, title }) => ({ value: id, label: title }))}
          />
        )}
      </header>
      <LazyCharts charts={charts} span={span ?? spans[0]?.id} heading="h3" />
    </section>
  )
}
