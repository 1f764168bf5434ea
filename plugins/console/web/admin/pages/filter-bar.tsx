import { NativeSelect, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Field } from '../api/page-types.ts'
import { labelOf } from '../api/row-values.ts'
import classes from './filter-bar.module.css'
import { choicesOf } from './forms/field-values.ts'
import { LabelPicker } from './forms/label-picker.tsx'
import type { ListState } from './list-state.ts'

/** Shows one control for each filter. The schema of the parameter determines the kind of control. */
export function FilterBar({ filters, state }: { readonly filters: readonly Field[]; readonly state: ListState }) {
  return filters.map((filter) => (
    <Filter
      key={filter.name}
      filter={filter}
      value={state.filters[filter.name] ?? ''}
      onChange={(value) => state.set({ filters: { ...state.filters, [filter.name]: value } })}
    />
  ))
}

interface FilterProps {
  readonly filter: Field
  readonly value: string
  onChange(value: string): void
}

function Filter({ filter, value, onChange }: FilterProps) {
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
        label: `${title}: ${labelOf(filter, choice) ?? wordOf(choice, translate('admin.yes'), translate('admin.no'))}`,
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

const wordOf = (choice: string, yes: string, no: string) => (choice === 'true' ? yes : choice === 'false' ? no : choice)

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
