import { Button, NativeSelect, Popover, Select, Skeleton, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
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
import { choicesOf } from './forms/field-values.ts'
import { dropdown, LabelPicker } from './forms/label-picker.tsx'
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

/** Shows the filters that the page declares, the other set filters, and a field that adds a filter. */
export function FilterBar({ filters, state, rows }: FilterBarProps) {
  const { translate } = useLanguage()
  const { units } = useSite()
  const [added, setAdded] = useState('')
  // A filter that no row meets must not change the unit of its own amount.
  const lastRows = useRef(rows)
  if (rows.length > 0) lastRows.current = rows
  const columns = filters.filter(isColumnFilter)
  const isSet = ({ name }: Field) => conditionsOn(state.conditions, name).length > 0
  const chips = columns.filter((one) => one.isShown || isSet(one) || one.name === added)
  const others = columns.filter((one) => !chips.includes(one))
  return (
    <>
      {filters
        .filter((filter) => !isColumnFilter(filter))
        .map((filter) => (
          <ParameterFilter
            key={filter.name}
            filter={filter}
            value={state.filters[filter.name] ?? ''}
            onChange={(value) => state.set({ filters: { ...state.filters, [filter.name]: value } })}
          />
        ))}
      {chips.map((filter) => (
        <Chip
          key={filter.name}
          filter={filter}
          unit={commonUnit(filter, lastRows.current, units)}
          conditions={conditionsOn(state.conditions, filter.name)}
          isNew={filter.name === added}
          onClose={() => setAdded('')}
          onChange={(changed) => state.set({ conditions: withConditions(state.conditions, filter.name, changed) })}
        />
      ))}
      {others.length > 0 && (
        <Select
          {...dropdown}
          size="sm"
          className={classes.add}
          aria-label={translate('admin.filter.add')}
          placeholder={translate('admin.filter.add')}
          data={others.map(({ name, title }) => ({ value: name, label: title }))}
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
}

/** A filter as a button with its values. It opens the control of the filter. */
function Chip({ filter, isNew, onClose, ...editor }: ChipProps) {
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

interface FilterProps {
  readonly filter: Field
  readonly value: string
  onChange(value: string): void
}

/** A filter by a parameter with one value. The schema of the parameter determines the kind of control. */
function ParameterFilter({ filter, value, onChange }: FilterProps) {
  const { translate } = useLanguage()
  const { title, schema, options } = filter
  if (options !== undefined) {
    return (
      <LabelPicker
        {...{ title, value }}
        kind={options}
        onChange={(id) => onChange(id ?? '')}
        className={classes.filter}
      />
    )
  }
  const choices = choicesOf(schema)
  if (choices !== undefined) {
    const data = [
      { value: '', label: `${title}: ${translate('admin.any')}` },
      ...choices.map((choice) => ({
        value: choice,
        label: `${title}: ${wordOf(filter, choice, translate('admin.yes'), translate('admin.no'))}`,
      })),
    ]
    return (
      <NativeSelect
        size="sm"
        aria-label={title}
        data={data}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        className={classes.filter}
      />
    )
  }
  return <TextFilter {...{ title, value, onChange }} />
}

function TextFilter({ title, value, onChange }: Omit<FilterProps, 'filter'> & { readonly title: string }) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const apply = () => text !== value && onChange(text.trim())
  return (
    <TextInput
      size="sm"
      aria-label={title}
      placeholder={title}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === 'Enter' && apply()}
      className={classes.filter}
      autoComplete="off"
      spellCheck={false}
    />
  )
}
