import { SegmentedControl } from '@mantine/core'
import { useLanguage } from '../../app/app.tsx'
import { useFormats } from '../pages/shown-value.ts'
import { TimeFilter } from '../pages/time-filter.tsx'
import type { TimeRange } from '../pages/time-range.ts'
import { useSite } from '../shell/site-context.ts'
import classes from './overview.module.css'
import { isOverviewPreset, maxRangeDays, overviewPresets, type Span, spansOf } from './overview-range.ts'

interface RangeChoiceProps {
  readonly range: TimeRange
  onChange(range: TimeRange): void
}

/** Lets the user choose the range of the overview: a preset of whole days, or two exact times. */
export function RangeChoice({ range, onChange }: RangeChoiceProps) {
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
