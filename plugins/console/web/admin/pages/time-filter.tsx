import { Button, Popover, TextInput } from '@mantine/core'
import { IconClock } from '@tabler/icons-react'
import { type FormEvent, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { useZone } from '../shell/zone.ts'
import { useFormats } from './shown-value.ts'
import classes from './time-filter.module.css'
import { presets as allPresets, isPreset, type Preset, type TimeRange } from './time-range.ts'
import { momentOf, wallClock } from './zoned-time.ts'

const dayMs = 86_400_000

interface TimeFilterProps {
  /** Title of the time by which the list is filtered. */
  readonly title: string
  readonly range: TimeRange
  /** Presets to choose from. Default: all. */
  readonly presets?: readonly Preset[]
  /** Maximum length of an exact range. The range then has two limits. */
  readonly maxDays?: number
  onChange(range: TimeRange): void
}

/** Lets the user choose the time range of a list: a preset, or two exact times in the displayed time zone. */
export function TimeFilter({ title, range, presets = allPresets, maxDays, onChange }: TimeFilterProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const [isOpen, setOpen] = useState(false)
  const choose = (next: TimeRange) => {
    onChange(next)
    setOpen(false)
  }
  const bound = (text: string) => (text === '' ? '…' : formats.time(text))
  const { from, to } = range
  const text = isPreset(from)
    ? translate(`admin.time.${from}`)
    : from === '' && to === ''
      ? translate('admin.any')
      : `${bound(from)} – ${bound(to)}`
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" withinPortal={false} trapFocus returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="sm"
          px="sm"
          fw={500}
          leftSection={<IconClock size={16} aria-hidden />}
          onClick={() => setOpen(!isOpen)}
        >
          {presets.length === 0 && from === '' && to === '' ? title : `${title}: ${text}`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={title}>
        <TimeChoice {...{ range, presets, maxDays }} onChoose={choose} />
      </Popover.Dropdown>
    </Popover>
  )
}

interface TimeChoiceProps extends Pick<TimeFilterProps, 'range' | 'presets'> {
  readonly maxDays?: number | undefined
  onChoose(range: TimeRange): void
}

/** Presets, and two fields for exact times. */
export function TimeChoice({ range, presets = allPresets, maxDays, onChoose }: TimeChoiceProps) {
  const { translate } = useLanguage()
  const { from, to } = range
  return (
    <>
      {presets.length > 0 && (
        <div className={classes.presets}>
          {(['', ...presets] as const).map((preset) => {
            const isChosen = from === preset && (preset !== '' || to === '')
            return (
              <Button
                key={preset}
                size="xs"
                variant={isChosen ? 'filled' : 'default'}
                aria-pressed={isChosen}
                onClick={() => onChoose({ from: preset, to: '' })}
              >
                {translate(preset === '' ? 'admin.any' : `admin.time.${preset}`)}
              </Button>
            )
          })}
        </div>
      )}
      <ExactTime range={range} maxDays={maxDays} onChoose={onChoose} />
    </>
  )
}

interface ExactTimeProps {
  readonly range: TimeRange
  readonly maxDays: number | undefined
  onChoose(range: TimeRange): void
}

/** Two fields for exact times in the displayed time zone. An empty field means no limit. */
function ExactTime({ range, maxDays, onChoose }: ExactTimeProps) {
  const { translate } = useLanguage()
  const { name: zone } = useZone()
  const typedOf = (text: string) => (text === '' || isPreset(text) ? '' : wallClock(Date.parse(text), zone))
  const [typed, setTyped] = useState({ from: typedOf(range.from), to: typedOf(range.to) })
  const moments = [typed.from, typed.to].map((wall) => momentOf(wall, zone))
  const [from, to] = moments
  const isReversed = from !== undefined && to !== undefined && to < from
  const isTooLong = maxDays !== undefined && from !== undefined && to !== undefined && to - from > maxDays * dayMs
  const isIncomplete =
    maxDays === undefined ? from === undefined && to === undefined : from === undefined || to === undefined
  const problem = isReversed
    ? translate('admin.time.reversed')
    : isTooLong
      ? translate('admin.time.too-long', { days: maxDays })
      : undefined
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    const [first = '', last = ''] = moments.map((ms) => (ms === undefined ? '' : new Date(ms).toISOString()))
    if (problem === undefined) onChoose({ from: first, to: last })
  }
  return (
    <form className={classes.exact} onSubmit={onSubmit} noValidate>
      {(['from', 'to'] as const).map((side) => (
        <TextInput
          key={side}
          type="datetime-local"
          size="sm"
          label={translate(`admin.time.${side}`)}
          error={side === 'to' ? problem : undefined}
          value={typed[side]}
          onChange={(event) => setTyped({ ...typed, [side]: event.currentTarget.value })}
        />
      ))}
      <p className={classes.zone}>{translate('admin.zone.shown', { zone })}</p>
      <Button type="submit" size="sm" disabled={isIncomplete}>
        {translate('admin.time.apply')}
      </Button>
    </form>
  )
}
