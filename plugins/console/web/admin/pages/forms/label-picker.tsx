import { MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Label } from '../../api/labels.ts'
import { labels } from '../../api/operations.ts'
import type { Field } from '../../api/page-types.ts'
import { type Row, type Rows, rowsOf, valueAt } from '../../api/row-values.ts'
import classes from './label-picker.module.css'
import type { KnownChoices } from './linked-fields.ts'

type Kind = NonNullable<Field['options']>

/** Objects to choose from: those of a kind, or the items that an operation returns. */
type Source = Kind | KnownChoices

const isKind = (source: Source): source is Kind => 'labels' in source

interface Search {
  readonly ids?: readonly string[]
  readonly search?: string
}

interface Finding {
  readonly queryKey: readonly unknown[]
  queryFn(context: { readonly signal: AbortSignal }): Promise<readonly Label[]>
}

/** Returns a function that describes how objects are found: the key of the query, and the call. */
function useFinder(source: Source): (wanted: Search) => Finding {
  const api = useApi()
  const { language } = useLanguage()
  return ({ ids, search = '' }) => {
    if (isKind(source)) {
      const query = { kind: source.labels, ...(ids === undefined ? { search } : { ids }) }
      return {
        queryKey: ['labels', source.labels, query, language],
        queryFn: async ({ signal }) => (await api.call<{ items: readonly Label[] }>(labels, { query, signal })).items,
      }
    }
    const { choices, params } = source
    const { value, name = value, size } = choices
    const query = {
      ...source.query,
      ...(size === undefined ? {} : { size }),
      ...(choices.search === undefined ? {} : { [choices.search]: search }),
    }
    return {
      queryKey: [choices.operation, params, query, 'choices', value, name, language],
      async queryFn({ signal }) {
        const { items } = rowsOf(await api.call<Rows | readonly Row[]>(choices, { params, query, signal }))
        return items.map((item) => ({ id: String(valueAt(item, value)), name: String(valueAt(item, name)) }))
      },
    }
  }
}

/** Returns the names of the chosen objects, and of the objects that match the typed text. */
function useLabels(source: Source, chosenIds: readonly string[], search: string) {
  const { translate } = useLanguage()
  const { more = {}, free = false } = isKind(source) ? source : {}
  const ids = chosenIds.filter((id) => !(id in more))
  const find = useFinder(source)
  const options = { staleTime: 60_000, retry: false }
  const canFind = isKind(source) || source.missing === undefined
  // An operation returns no items for given ids. A chosen item is usually among the found ones.
  const chosen = useQuery({ ...find({ ids }), ...options, enabled: isKind(source) && ids.length > 0 })
  const found = useQuery({
    ...find({ search }),
    ...options,
    enabled: canFind,
    // The former items of an operation may be those of another parameter, so they are not shown meanwhile.
    ...(isKind(source) ? { placeholderData: (last: readonly Label[] | undefined) => last } : {}),
  })
  const typed = search.trim()
  const shown = canFind ? [...(found.data ?? []), ...((isKind(source) && chosen.data) || [])] : []
  const names = shown.map(({ name }) => name)
  const known = new Map([
    ...Object.entries(more),
    ...(free && typed !== '' && !names.includes(typed) ? [[typed, typed] as const] : []),
    ...ids.map((id) => [id, id] as const),
    ...shown.map(({ id, name }) => [String(id), name] as const),
  ])
  const problem = !isKind(source) && found.isError ? translate('admin.choices.failed') : undefined
  return {
    data: [...known].map(([value, label]) => ({ value, label })),
    isCurrent: !found.isPlaceholderData,
    problem,
  }
}

type Choice = ReturnType<typeof useLabels>['data'][number]

/** Returns the object with this id or name, or the only object whose name contains the text. */
function identified(data: readonly Choice[], text: string): Choice | undefined {
  const typed = text.trim().toLowerCase()
  if (typed === '') return undefined
  const exact = data.find(({ value, label }) => value.toLowerCase() === typed || label.toLowerCase() === typed)
  const found = data.filter(({ label }) => label.toLowerCase().includes(typed))
  return exact ?? (found.length === 1 ? found[0] : undefined)
}

interface PickerProps {
  readonly kind: Source
  readonly title: string
  readonly className?: string | undefined
}

interface LabelPickerProps extends PickerProps {
  readonly value: string
  /** Label of the field in a form. A filter has a placeholder instead of a label. */
  readonly label?: string
  readonly id?: string
  readonly description?: ReactNode
  readonly error?: string | undefined
  readonly required?: boolean
  onChange(id: string | null): void
  onLeave?(): void
}

/** The list of choices is rendered inside the dialog. Its CSS class makes it scroll. */
export const dropdown = {
  comboboxProps: { withinPortal: false, floatingStrategy: 'fixed' },
  withScrollArea: false,
  classNames: { options: classes.options ?? '' },
  // Tab leaves the field. Otherwise it would reach the list, which closes then, and the focus would be lost.
  attributes: { options: { tabIndex: -1 } },
} as const

/** A field in which the user chooses one object of a kind by name. */
export function LabelPicker(props: LabelPickerProps) {
  const { kind, title, value, onChange, onLeave, className, required = false, ...look } = props
  const [search, setSearch] = useState('')
  /** Text of the field that the user has left. Its objects may still be read. */
  const [left, setLeft] = useState<string>()
  const { data, isCurrent, problem } = useLabels(kind, value === '' ? [] : [value], left ?? search)
  useEffect(() => {
    if (left === undefined || !isCurrent) return
    setLeft(undefined)
    const choice = identified(data, left)
    if (choice !== undefined && choice.value !== value) onChange(choice.value)
  }, [left, isCurrent, data, value, onChange])
  const leave = () => {
    setLeft(search)
    onLeave?.()
  }
  return (
    <Select
      size="sm"
      {...look}
      {...dropdown}
      error={look.error ?? problem}
      {...(look.label === undefined ? { 'aria-label': title, placeholder: title } : {})}
      withAsterisk={required}
      className={className ?? ''}
      data={data}
      value={value === '' ? null : value}
      onChange={onChange}
      onFocus={() => setLeft(undefined)}
      onBlur={leave}
      searchable
      selectFirstOptionOnChange
      openOnFocus={false}
      clearable
      searchValue={search}
      onSearchChange={setSearch}
    />
  )
}

interface LabelsPickerProps extends PickerProps {
  readonly id: string
  readonly description?: ReactNode
  readonly error?: string | undefined
  readonly required: boolean
  readonly value: readonly string[]
  onChange(ids: readonly string[]): void
  onLeave(): void
}

/** A field in which the user chooses several objects of one kind by name. */
export function LabelsPicker({ kind, title, value, onChange, onLeave, required, ...look }: LabelsPickerProps) {
  const [search, setSearch] = useState('')
  const [isOpen, setOpen] = useState(false)
  const { data, problem } = useLabels(kind, value, search)
  return (
    <MultiSelect
      {...look}
      {...dropdown}
      error={look.error ?? problem}
      dropdownOpened={isOpen}
      onDropdownOpen={() => setOpen(true)}
      onDropdownClose={() => setOpen(false)}
      label={title}
      withAsterisk={required}
      data={data}
      value={[...value]}
      onChange={(ids) => {
        onChange(ids)
        // Closes the list, because it covers the buttons of the form.
        setOpen(false)
      }}
      onBlur={onLeave}
      searchable
      selectFirstOptionOnChange
      openOnFocus={false}
      searchValue={search}
      onSearchChange={setSearch}
      hidePickedOptions
    />
  )
}
