import { DateInput, DateTimePicker } from '@mantine/dates'
import '@mantine/dates/styles.css'
import 'dayjs/locale/zh-cn'
import type { ReactNode } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { momentOf, wallClock } from '../zoned-time.ts'

interface DateFieldProps {
  readonly id: string
  readonly children: { readonly title: string; readonly description: ReactNode }
  /** False for a day without a time. */
  readonly withTime: boolean
  /** A moment in ISO 8601, or a day as `2026-01-31`; empty if no date is chosen. */
  readonly value: string
  /** IANA time zone in which the field shows a moment. */
  readonly zone: string
  readonly error: string | undefined
  readonly required: boolean
  onChange(value: string): void
  onLeave(): void
}

/** Returns the locale for the names of days and months in the calendar. In both languages, weeks begin on Monday. */
const localeOf = (language: string) => (language.startsWith('zh') ? 'zh-cn' : 'en')

/**
 * Lets the user pick a day, or a day and a time in the given zone. It is the default export, because `lazy` loads it
 * with the first date field.
 */
export default function DateField(props: DateFieldProps) {
  const { children, withTime, value, zone, required, onChange, onLeave, ...field } = props
  const { translate, language } = useLanguage()
  const at = Date.parse(value)
  const shown = !withTime || Number.isNaN(at) ? value : wallClock(at, zone).replace('T', ' ')
  const commonProps = {
    ...field,
    label: children.title,
    // Also names the calendar, which refers to the field. The content of an empty field is no name.
    'aria-label': `${children.title} ${shown}`.trim(),
    withAsterisk: required,
    clearable: !required,
    clearButtonProps: { 'aria-label': translate('admin.date.clear', { label: children.title }) },
    locale: localeOf(language),
    firstDayOfWeek: 1 as const,
    // Days of other months and red weekends would have too little contrast.
    hideOutsideDates: true,
    weekendDays: [],
    ariaLabels: Object.fromEntries(
      (['Month', 'Year', 'Decade'] as const).flatMap((level) => [
        [`next${level}`, translate('admin.date.next')],
        [`previous${level}`, translate('admin.date.previous')],
      ]),
    ),
    onBlur: onLeave,
    // With the id of the field, the calendar gets the label of the field for screen readers.
    popoverProps: { id: field.id },
  }
  if (!withTime) {
    return (
      <DateInput
        {...commonProps}
        description={children.description}
        valueFormat="YYYY-MM-DD"
        value={value === '' ? null : value}
        onChange={(day) => onChange(day ?? '')}
      />
    )
  }
  return (
    <DateTimePicker
      {...commonProps}
      description={
        <>
          {children.description} {translate('admin.zone.shown', { zone })}
        </>
      }
      valueFormat="YYYY-MM-DD HH:mm"
      value={Number.isNaN(at) ? null : shown}
      submitButtonProps={{ 'aria-label': translate('admin.time.apply') }}
      onChange={(wall) => {
        const ms = wall === null ? undefined : momentOf(wall.slice(0, 16).replace(' ', 'T'), zone)
        onChange(ms === undefined ? '' : new Date(ms).toISOString())
      }}
    />
  )
}
