import { Button, Popover, Select, Skeleton } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { AmountUnit, Column, Field } from '../api/page-types.ts'
import type { Row } from '../api/row-values.ts'
import { useSite } from '../shell/site-context.ts'
import { unitOfColumn } from './amounts.ts'
import {
  type ColumnFilter,
  conditionsOn,
  type EditorProps,
  isColumnFilter,
  isOfUsers,
  me,
  valuesOf,
  withConditions,
  wordOf,
} from './conditions.ts'
import classes from './filter-bar.module.css'
import { dropdown } from './forms/label-picker.tsx'
import type { ListState } from './list-state.ts'
import { Reference } from './reference-cell.tsx'
import { useFormats } from './shown-value.ts'
import { isPreset } from './time-range.ts'

const FilterEditor = lazy(() => import('./filter-editor.tsx'))

interface FilterBarProps {
  readonly filters: readonly Field[]
  readonly state: ListState
  /** Displayed rows, which determine the unit of amounts. */
  readonly rows: readonly Row[]
}

/** Shows the filters that the page declares and the other set filters as chips, and a field that adds a filter. */
export function FilterBar({ filters, state, rows }: FilterBarProps) {
  const { translate } = useLanguage()
  const { units } = useSite()
  const [added, setAdded] = useState('')
  const adder = useRef<HTMLInputElement>(null)
  // A filter that no row meets must not change the unit of its own amount.
  const lastRows = useRef(rows)
  if (rows.length > 0) lastRows.current = rows
  const chips = filters.map((filter) => chipOf(filter, state))
  const isShown = ({ filter, conditions }: (typeof chips)[number]) =>
    filter.isShown || conditions.length > 0 || filter.name === added
  const others = chips.filter((chip) => !isShown(chip))
  return (
    <>
      {chips.filter(isShown).map((chip) => (
        <Chip
          key={chip.filter.name}
          {...chip}
          unit={commonUnit(chip.filter, lastRows.current, units)}
          isNew={chip.filter.name === added}
          onClose={() => setAdded('')}
          onRemoved={() => adder.current?.focus()}
        />
      ))}
      {others.length > 0 && (
        <Select
          {...dropdown}
          ref={adder}
          size="sm"
          className={classes.add}
          aria-label={translate('admin.filter.add')}
          placeholder={translate('admin.filter.add')}
          data={others.map(({ filter: { name, title } }) => ({ value: name, label: title }))}
          value={null}
          searchable
          selectFirstOptionOnChange
          openOnFocus={false}
          onChange={(name) => setAdded(name ?? '')}
        />
      )}
    </>
  )
}

/** Returns the content of a chip. A filter without operators is a parameter with one value. */
function chipOf(filter: Field, state: ListState): Pick<EditorProps, 'filter' | 'conditions' | 'onChange'> {
  const { name } = filter
  if (isColumnFilter(filter))
    return {
      filter,
      conditions: conditionsOn(state.conditions, name),
      onChange: (changed) => state.set({ conditions: withConditions(state.conditions, name, changed) }),
    }
  const value = state.filters[name]
  return {
    filter: { ...filter, operators: ['in'], isSingle: true },
    conditions: value === undefined || value === '' ? [] : [{ name, operator: 'in', values: [value] }],
    onChange: ({ in: values }) => state.set({ filters: { ...state.filters, [name]: values?.at(-1) ?? '' } }),
  }
}

/** Returns the unit of an amount if it is the same in all displayed rows. */
function commonUnit(filter: ColumnFilter, rows: readonly Row[], units: Readonly<Record<string, AmountUnit>>) {
  if (filter.as !== 'amount') return undefined
  const found = (rows.length === 0 ? [{}] : rows).map((row) => unitOfColumn(filter as unknown as Column, units, row))
  return new Set(found.map(({ code }) => code)).size === 1 ? found[0]?.unit : undefined
}

interface ChipProps extends Omit<EditorProps, 'onDone'> {
  /** True if the user has just added the filter. */
  readonly isNew: boolean
  onClose(): void
  /** Called after the filter was removed, which may remove its chip with the focus. */
  onRemoved(): void
}

/** A filter as a button with its values. It opens the control of the filter. */
function Chip({ filter, isNew, onClose, onRemoved, ...editor }: ChipProps) {
  const { translate } = useLanguage()
  const [isOpen, setOpen] = useState(isNew)
  const isSet = editor.conditions.length > 0
  const close = () => {
    setOpen(false)
    onClose()
  }
  const remove = () => {
    editor.onChange({})
    close()
    if (!filter.isShown) onRemoved()
  }
  return (
    <Popover
      opened={isOpen}
      onChange={(isOpening) => (isOpening ? setOpen(true) : close())}
      position="bottom-start"
      withinPortal={false}
      returnFocus
    >
      <Button.Group>
        <Popover.Target>
          <Button
            variant={isSet ? 'light' : 'default'}
            size="sm"
            px="sm"
            fw={500}
            className={classes.chip}
            {...(isSet ? { 'aria-keyshortcuts': 'Delete' } : {})}
            onClick={() => (isOpen ? close() : setOpen(true))}
            onKeyDown={({ key }) => isSet && (key === 'Delete' || key === 'Backspace') && remove()}
          >
            <span className={classes.text}>
              {filter.title}
              {isSet && ': '}
              <ChipText filter={filter} {...editor} />
            </span>
          </Button>
        </Popover.Target>
        {isSet && (
          <Button
            variant="light"
            size="sm"
            px="xs"
            // With the keyboard, Delete removes the filter, so that this button is no further step.
            tabIndex={-1}
            aria-label={translate('admin.filter.remove', { title: filter.title })}
            onClick={remove}
          >
            <IconX size={14} aria-hidden />
          </Button>
        )}
      </Button.Group>
      <Popover.Dropdown aria-label={filter.title}>
        <Suspense fallback={<Skeleton height={36} width="12rem" />}>
          <FilterEditor filter={filter} {...editor} onDone={close} />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  )
}

/** Number of values that a chip shows. For further values only their number is shown. */
const shownValues = 2

function ChipText({ filter, unit, conditions }: Omit<EditorProps, 'onChange' | 'onDone'>) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const values = valuesOf(conditions, 'in')
  const limit = (operator: 'gte' | 'lte') => {
    const [value] = valuesOf(conditions, operator)
    if (value === undefined) return ''
    if (isPreset(value)) return translate(`admin.time.${value}`)
    const text = !filter.operators.includes('in')
      ? formats.time(value)
      : filter.as === 'amount'
        ? formats.amount(value, unit)
        : formats.count(Number(value))
    return `${operator === 'gte' ? '≥' : '≤'} ${text}`
  }
  const [empty] = valuesOf(conditions, 'empty')
  const texts = [
    limit('gte'),
    limit('lte'),
    ...(empty === undefined ? [] : [translate(empty === 'true' ? 'admin.filter.empty' : 'admin.filter.filled')]),
    ...(values.length > shownValues ? [translate('admin.more', { count: values.length - shownValues })] : []),
  ].filter((text) => text !== '')
  return (
    <>
      {values.slice(0, shownValues).map((value, index) => (
        <span key={value}>
          {index > 0 && ', '}
          <ValueText filter={filter} value={value} />
        </span>
      ))}
      {values.length > 0 && texts.length > 0 && ', '}
      {texts.join(', ')}
    </>
  )
}

function ValueText({ filter, value }: { readonly filter: ColumnFilter; readonly value: string }) {
  const { translate } = useLanguage()
  if (isOfUsers(filter) && value === me) return translate('admin.filter.me')
  if (filter.options !== undefined && !(value in (filter.options.more ?? {})))
    return <Reference id={value} of={{ labels: filter.options.labels }} />
  return filter.options?.more?.[value] ?? wordOf(filter, value, translate('admin.yes'), translate('admin.no'))
}
