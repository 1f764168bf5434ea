import { DateInput, DateTimePicker } from '@mantine/dates'
import '@mantine/dates/styles.css'
import 'dayjs/locale/zh-cn'
import type { ReactNode } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { momentOf, wallClock } from '../zoned-time.ts'

interface DateFieldProps {
  readonly id: string
  readonly children: { readonly title: string; readonly description: ReactNode }
  /** False for a day without a time. */
  readonly withTime: boolean
  /** A moment in ISO 8601, or a day as `2026-01-31`. Empty: none. */
  readonly value: string
  /** IANA zone whose clock the field shows. */
  readonly zone: string
  readonly error: string | undefined
  readonly required: boolean
  onChange(value: string): void
  onLeave(): void
}

/** Days and weeks as the language of the page writes them. Both languages begin weeks on Monday. */
const localeOf = (language: string) => (language.startsWith('zh') ? 'zh-cn' : 'en')

/** Picks a day, or a moment of the shown clock. The default export, because it is loaded with the first date. */
export default function DateField(props: DateFieldProps) {
  const { children, withTime, value, zone, required, onChange, onLeave, ...field } = props
  const { translate, language } = useSpeech()
  const at = Date.parse(value)
  const shown = !withTime || Number.isNaN(at) ? value : wallClock(at, zone).replace('T', ' ')
  const shared = {
    ...field,
    label: children.title,
    // Also names the calendar, which refers to the field. The content of an empty field is no name.
    'aria-label': `${children.title} ${shown}`.trim(),
    withAsterisk: required,
    clearable: !required,
    clearButtonProps: { 'aria-label': translate('admin.date.clear', { label: children.title }) },
    locale: localeOf(language),
    firstDayOfWeek: 1 as const,
    // Days of other months and red weekends have too little contrast.
    hideOutsideDates: true,
    weekendDays: [],
    ariaLabels: Object.fromEntries(
      (['Month', 'Year', 'Decade'] as const).flatMap((level) => [
        [`next${level}`, translate('admin.date.next')],
        [`previous${level}`, translate('admin.date.previous')],
      ]),
    ),
    onBlur: onLeave,
    // The calendar is named by the field.
    popoverProps: { id: field.id },
  }
  if (!withTime) {
    return (
      <DateInput
        {...shared}
        description={children.description}
        valueFormat="YYYY-MM-DD"
        value={value === '' ? null : value}
        onChange={(day) => onChange(day ?? '')}
      />
    )
  }
  return (
    <DateTimePicker
      {...shared}
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
