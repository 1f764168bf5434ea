import { useDebouncedValue } from '@mantine/hooks'
import { useQueries } from '@tanstack/react-query'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import { lookups } from '../api/operations.ts'
import type { SharedView } from '../api/page-types.ts'
import { type Row, valueAt } from '../api/row-values.ts'
import { useOperation } from '../api/use-operation.ts'
import type { PaletteEntry } from '../own/own-pages.tsx'
import type { Formats } from '../pages/formats.ts'
import { searchName } from '../pages/list-state.ts'
import { plainText, useFormats } from '../pages/shown-value.ts'
import { acceptsText, ConcurrencyLimit, type FoundRows, find, type Lookup, type LookupParameter } from './lookups.ts'

/** A group of entries from one page or one list. */
export interface PaletteGroup {
  readonly id: string
  readonly title: string
  readonly entries: readonly PaletteEntry[]
  /** Address of all results, if there are more results than displayed. */
  readonly all?: string
}

/** Delay between typing and the search. */
const typingMs = 250
/** Maximum number of concurrent list calls. */
const turns = new ConcurrencyLimit(4)

interface Records {
  readonly groups: readonly PaletteGroup[]
  /** Views that are shared with a role of the user. */
  readonly views: readonly SharedView[]
  /** Titles of the lists that have not responded yet (`waiting`), and of those that failed (`failed`). */
  readonly waiting: readonly string[]
  readonly failed: readonly string[]
  /** True if the searchable lists could not be loaded from the server. */
  readonly isLost: boolean
  readonly isBusy: boolean
  again(): void
}

/** Returns the rows of visible lists that match a text. With an empty text, nothing is searched. */
export function useRecords(text: string): Records {
  const api = useApi()
  const { language } = useLanguage()
  const formats = useFormats()
  const [settled] = useDebouncedValue(text, typingMs)
  const isWanted = text !== ''
  const lists = useOperation<{ readonly items: readonly Lookup[]; readonly views: readonly SharedView[] }>(lookups, {
    enabled: isWanted,
    staleTime: 5 * 60_000,
  })
  const requested =
    isWanted && settled === text
      ? (lists.data?.items ?? []).flatMap((lookup) =>
          lookup.ways.filter((way) => acceptsText(way, text)).map((way) => ({ lookup, way })),
        )
      : []
  const responses = useQueries({
    queries: requested.map(({ lookup, way }) => ({
      queryKey: ['found', lookup.id, way.parameter, text, language],
      queryFn: ({ signal }: { signal: AbortSignal }) => turns.take(signal, () => find(api, lookup, way, text, signal)),
      staleTime: 30_000,
      gcTime: 60_000,
      retry: false,
      refetchOnWindowFocus: false,
    })),
  })
  const titles = (is: (response: (typeof responses)[number]) => boolean) => [
    ...new Set(responses.flatMap((response, index) => (is(response) ? (requested[index]?.lookup.title ?? []) : []))),
  ]
  const waiting = titles(({ isFetching, data }) => isFetching && data === undefined)
  return {
    groups: responses.flatMap(({ data }, index) => {
      const { lookup, way } = requested[index] ?? {}
      return data === undefined || lookup === undefined || way === undefined || data.rows.length === 0
        ? []
        : [groupOf(lookup, way, text, data, formats)]
    }),
    views: (isWanted && lists.data?.views) || [],
    waiting,
    failed: titles(({ isError, isFetching }) => isError && !isFetching),
    isLost: isWanted && lists.isError,
    isBusy: isWanted && (settled !== text || lists.isLoading || waiting.length > 0),
    again: () => {
      if (lists.isError) void lists.refetch()
      for (const response of responses) if (response.isError) void response.refetch()
    },
  }
}

function groupOf(
  lookup: Lookup,
  way: LookupParameter,
  text: string,
  { rows, hasMore }: FoundRows,
  formats: Formats,
): PaletteGroup {
  const { id, title } = lookup
  return {
    id: `${id} ${way.parameter}`,
    title,
    entries: rows.map((row) => ({
      id: `${id} ${keyOf(row, lookup, way)}`,
      ...entryOf(row, lookup, way, text, formats),
    })),
    // If objects are found by the name of a related object, there is no list that shows all of them.
    ...(hasMore && way.labels === undefined ? { all: listed(lookup, way, text) } : {}),
  }
}

/** Returns the address of the list, with the typed text as its search or filter. */
const listed = ({ id }: Lookup, { isSearch, parameter }: LookupParameter, value: string) =>
  `/${id}?${new URLSearchParams({ [isSearch ? searchName : parameter]: value })}`

const keyOf = (row: Row, { key }: Lookup, way: LookupParameter) =>
  String(way.labels === undefined ? valueAt(row, key) : row['id'])

/**
 * Returns a palette entry with the name of the row, further members, and the address of its detail page or of the list.
 */
function entryOf(row: Row, lookup: Lookup, way: LookupParameter, text: string, formats: Formats) {
  const key = keyOf(row, lookup, way)
  if (way.labels !== undefined)
    return { label: plainText(row['name']), description: '', href: listed(lookup, way, key) }
  const label = plainText(valueAt(row, lookup.name)) || key
  const facts = lookup.facts.map(({ field, as, labels }) => {
    const value = plainText(valueAt(row, field))
    return as === 'time' && value !== '' ? formats.time(value) : (labels?.[value] ?? value)
  })
  const own = lookup.detail === undefined ? undefined : `/${lookup.detail}/${encodeURIComponent(key)}`
  return { label, description: facts.filter((fact) => fact !== '').join(' · '), href: own ?? listed(lookup, way, text) }
}
