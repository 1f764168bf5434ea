import { MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Label } from '../../api/labels.ts'
import { labels } from '../../api/operations.ts'
import type { Field } from '../../api/page-types.ts'
import classes from './label-picker.module.css'

type Kind = NonNullable<Field['options']>

/** Returns the names of the chosen objects, and of the objects that match the typed text. */
function useLabels({ labels: kind, more = {}, free = false }: Kind, chosenIds: readonly string[], search: string) {
  const api = useApi()
  const ids = chosenIds.filter((id) => !(id in more))
  const { language } = useLanguage()
  const ask = (query: { readonly ids?: readonly string[]; readonly search?: string }) => ({
    queryKey: ['labels', kind, query, language],
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      (await api.call<{ items: readonly Label[] }>(labels, { query: { kind, ...query }, signal })).items,
    staleTime: 60_000,
    retry: false,
  })
  const chosen = useQuery({ ...ask({ ids }), enabled: ids.length > 0 })
  const found = useQuery({ ...ask({ search }), placeholderData: (last) => last })
  const typed = search.trim()
  const names = [...(found.data ?? []), ...(chosen.data ?? [])].map(({ name }) => name)
  const known = new Map([
    ...Object.entries(more),
    ...(free && typed !== '' && !names.includes(typed) ? [[typed, typed] as const] : []),
    ...ids.map((id) => [id, id] as const),
    ...[...(found.data ?? []), ...(chosen.data ?? [])].map(({ id, name }) => [String(id), name] as const),
  ])
  return { data: [...known].map(([value, label]) => ({ value, label })), isCurrent: !found.isPlaceholderData }
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
  readonly kind: Kind
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
const dropdown = {
  comboboxProps: { withinPortal: false, floatingStrategy: 'fixed' },
  withScrollArea: false,
  classNames: { options: classes.options ?? '' },
} as const

/** A field in which the user chooses one object of a kind by name. */
export function LabelPicker(props: LabelPickerProps) {
  const { kind, title, value, onChange, onLeave, className, required = false, ...look } = props
  const [search, setSearch] = useState('')
  const { data, isCurrent } = useLabels(kind, value === '' ? [] : [value], search)
  const leave = () => {
    const choice = isCurrent ? identified(data, search) : undefined
    if (choice !== undefined && choice.value !== value) onChange(choice.value)
    onLeave?.()
  }
  return (
    <Select
      size="sm"
      {...look}
      {...dropdown}
      {...(look.label === undefined ? { 'aria-label': title, placeholder: title } : {})}
      withAsterisk={required}
      className={className ?? ''}
      data={data}
      value={value === '' ? null : value}
      onChange={onChange}
      onBlur={leave}
      searchable
      selectFirstOptionOnChange
      openOnFocus={look.error === undefined}
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
  const { data } = useLabels(kind, value, search)
  return (
    <MultiSelect
      {...look}
      {...dropdown}
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
      openOnFocus={look.error === undefined}
      searchValue={search}
      onSearchChange={setSearch}
      hidePickedOptions
    />
  )
}
