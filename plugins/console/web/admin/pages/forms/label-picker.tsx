import { MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import type { Label } from '../../api/labels.ts'
import { labels } from '../../api/operations.ts'

/** Returns the names of the chosen objects, and of the objects that match the typed text. */
function useLabels(kind: string, ids: readonly string[], search: string) {
  const api = useApi()
  const { language } = useSpeech()
  const ask = (query: { readonly ids?: readonly string[]; readonly search?: string }) => ({
    queryKey: ['labels', kind, query, language],
    queryFn: async ({ signal }: { signal: AbortSignal }) =>
      (await api.call<{ items: readonly Label[] }>(labels, { query: { kind, ...query }, signal })).items,
    staleTime: 60_000,
    retry: false,
  })
  const chosen = useQuery({ ...ask({ ids }), enabled: ids.length > 0 })
  const found = useQuery({ ...ask({ search }), placeholderData: (last) => last })
  const known = new Map([
    ...ids.map((id) => [id, id] as const),
    ...[...(found.data ?? []), ...(chosen.data ?? [])].map(({ id, name }) => [String(id), name] as const),
  ])
  return [...known].map(([value, label]) => ({ value, label }))
}

interface PickerProps {
  readonly kind: string
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
}

/** A field in which the user chooses one object of a kind by name. */
export function LabelPicker({ kind, title, value, onChange, className, required = false, ...look }: LabelPickerProps) {
  const [search, setSearch] = useState('')
  const data = useLabels(kind, value === '' ? [] : [value], search)
  return (
    <Select
      size="sm"
      {...look}
      {...(look.label === undefined ? { 'aria-label': title, placeholder: title } : {})}
      withAsterisk={required}
      className={className ?? ''}
      data={data}
      value={value === '' ? null : value}
      onChange={onChange}
      searchable
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
}

/** A field in which the user chooses several objects of one kind by name. */
export function LabelsPicker({ kind, title, value, onChange, required, ...look }: LabelsPickerProps) {
  const [search, setSearch] = useState('')
  const data = useLabels(kind, value, search)
  return (
    <MultiSelect
      {...look}
      label={title}
      withAsterisk={required}
      data={data}
      value={[...value]}
      onChange={onChange}
      searchable
      openOnFocus={look.error === undefined}
      searchValue={search}
      onSearchChange={setSearch}
      hidePickedOptions
    />
  )
}
