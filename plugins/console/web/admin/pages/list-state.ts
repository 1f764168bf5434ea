import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { ListPage } from '../api/page-types.ts'

/** What a list shows, as its address says it. */
export interface ListState {
  readonly filters: Readonly<Record<string, string>>
  readonly search: string
  readonly sort: string | undefined
  /** Cursors of the pages before this one, and of this one. */
  readonly trail: readonly string[]
  set(change: {
    readonly filters?: Readonly<Record<string, string>>
    readonly search?: string
    readonly sort?: string
  }): void
  next(cursor: string): void
  back(): void
}

const searchName = 'q'
const sortName = 'sort'
const trailName = 'after'

/** State lies in the address alone: it can be sent to somebody, and the way back works. Unknown parameters are left out. */
export function useListState({
  filters,
  sorts,
  sort: firstSort,
}: Pick<ListPage, 'filters' | 'sorts' | 'sort'>): ListState {
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
    const write = (next: Pick<ListState, 'filters' | 'search' | 'sort' | 'trail'>, replace = false) => {
      const written = new URLSearchParams(Object.entries(next.filters).filter(([, value]) => value !== ''))
      if (next.search !== '') written.set(searchName, next.search)
      if (next.sort !== undefined && next.sort !== firstSort) written.set(sortName, next.sort)
      for (const cursor of next.trail) written.append(trailName, cursor)
      setParams(written, { replace })
    }
    const state = { filters: given, search, sort, trail }
    return {
      ...state,
      set: (change) => write({ ...state, ...change, trail: [] }, true),
      next: (cursor) => write({ ...state, trail: [...trail, cursor] }),
      back: () => write({ ...state, trail: trail.slice(0, -1) }),
    }
  }, [params, setParams, filters, sorts, firstSort])
}
