import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { ListPage } from '../api/page-types.ts'
import type { SavedView } from '../shell/kept.ts'

/** What a list shows, as its address says it. */
export interface ListState {
  readonly filters: Readonly<Record<string, string>>
  readonly search: string
  readonly sort: string | undefined
  /** Members that are shown; `undefined` for those that the page shows by itself. */
  readonly columns: readonly string[] | undefined
  /** Cursors of the pages before this one, and of this one. */
  readonly trail: readonly string[]
  set(change: {
    readonly filters?: Readonly<Record<string, string>>
    readonly search?: string
    readonly sort?: string
    readonly columns?: readonly string[] | undefined
  }): void
  next(cursor: string): void
  back(): void
}

/** In the address, also of pages by hand. */
export const searchName = 'q'
const sortName = 'sort'
const columnsName = 'columns'
const trailName = 'after'

/** State lies in the address alone: it can be sent to somebody, and the way back works. Unknown parameters are left out. */
export function useListState({
  filters,
  sorts,
  sort: firstSort,
  columns: all,
}: Pick<ListPage, 'filters' | 'sorts' | 'sort' | 'columns'>): ListState {
  const [params, setParams] = useSearchParams()
  return useMemo(() => {
    const given = Object.fromEntries(
      filters.flatMap(({ name }) => {
        const value = params.get(name)
        return value === null || value === '' ? [] : [[name, value]]
      }),
    )
    const asked = params.get(sortName) ?? firstSort
    const sort = asked !== undefined && sorts.includes(asked.replace(/^-/, '')) ? asked : undefined
    const trail = params.getAll(trailName)
    const search = params.get(searchName) ?? ''
    const named = params.get(columnsName)?.split(',') ?? []
    const found = all.flatMap(({ field }) => (named.includes(field) ? [field] : []))
    const columns = found.length === 0 ? undefined : found
    const write = (next: Omit<ListState, 'set' | 'next' | 'back'>, replace = false) => {
      const written = new URLSearchParams(Object.entries(next.filters).filter(([, value]) => value !== ''))
      if (next.search !== '') written.set(searchName, next.search)
      if (next.sort !== undefined && next.sort !== firstSort) written.set(sortName, next.sort)
      if (next.columns !== undefined) written.set(columnsName, next.columns.join(','))
      for (const cursor of next.trail) written.append(trailName, cursor)
      setParams(written, { replace })
    }
    const state = { filters: given, search, sort, columns, trail }
    return {
      ...state,
      // Other columns show the same rows.
      set: (change) => write({ ...state, ...change, trail: 'columns' in change ? trail : [] }, true),
      next: (cursor) => write({ ...state, trail: [...trail, cursor] }),
      back: () => write({ ...state, trail: trail.slice(0, -1) }),
    }
  }, [params, setParams, filters, sorts, firstSort, all])
}

/** What a saved view keeps of an address: everything but which page of the list it is, in one order. */
export function searchOfView(params: URLSearchParams): string {
  const kept = new URLSearchParams(params)
  kept.delete(trailName)
  kept.sort()
  return kept.toString()
}

export const addressOfView = ({ page, search }: SavedView): string => `/${page}?${search}`
