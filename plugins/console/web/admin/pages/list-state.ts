import { useMemo } from 'react'
import { useSearchParams } from 'wouter'
import type { ListPage, SharedView } from '../api/page-types.ts'
import type { SavedView } from '../shell/kept.ts'
import { isColumnFilter, printCondition } from './conditions.ts'
import { allTime, rangeIn, type TimeRange } from './time-range.ts'

/** State of a list, as stored in the address. */
export interface ListState {
  /** Values of parameters. */
  readonly filters: Readonly<Record<string, string>>
  /** Conditions for columns, in the form of `printCondition`. */
  readonly conditions: readonly string[]
  readonly search: string
  readonly time: TimeRange
  readonly sort: string | undefined
  /** Displayed members; `undefined` for the default of the page. */
  readonly columns: readonly string[] | undefined
  /** Cursors of the earlier pages of the list and of the current page. */
  readonly trail: readonly string[]
  set(change: {
    readonly filters?: Readonly<Record<string, string>>
    readonly conditions?: readonly string[]
    readonly search?: string
    readonly time?: TimeRange
    readonly sort?: string
    readonly columns?: readonly string[] | undefined
  }): void
  next(cursor: string): void
  back(): void
}

/** Name of the search parameter in the address. Custom pages use it too. */
export const searchName = 'q'
/** Parameter of the address that shows the board in place of the list. */
export const boardName = 'board'
export const filterName = 'filter'
const sortName = 'sort'
const columnsName = 'columns'
/** Parameter of the address with the position in the list. */
export const trailName = 'after'

/**
 * Reads and writes the state of a list. The state is stored only in the address, so that the address can be shared and
 * the Back button works. Unknown parameters are ignored.
 */
export function useListState({
  filters,
  sorts,
  sort: firstSort,
  columns: all,
  range,
}: Pick<ListPage, 'filters' | 'sorts' | 'sort' | 'columns' | 'range'>): ListState {
  const [params, setParams] = useSearchParams()
  return useMemo(() => {
    const named = (isColumn: boolean) =>
      filters.flatMap((filter) => {
        const value = params.get(filter.name) ?? ''
        return value === '' || isColumnFilter(filter) !== isColumn ? [] : [[filter.name, value] as const]
      })
    const given = Object.fromEntries(named(false))
    // Links of pages and older addresses have a parameter with one value for a column.
    const values = named(true).map(([name, value]) => printCondition({ name, operator: 'in', values: [value] }))
    const conditions = [...params.getAll(filterName), ...values]
    const requested = params.get(sortName) ?? firstSort
    const sort = requested !== undefined && sorts.includes(requested.replace(/^-/, '')) ? requested : undefined
    const trail = params.getAll(trailName)
    const search = params.get(searchName) ?? ''
    const time = range === undefined ? allTime : rangeIn(params)
    const shown = params.get(columnsName)?.split(',') ?? []
    const found = all.flatMap(({ field }) => (shown.includes(field) ? [field] : []))
    const columns = found.length === 0 ? undefined : found
    const write = (next: Omit<ListState, 'set' | 'next' | 'back'>, replace = false) => {
      const written = new URLSearchParams(Object.entries(next.filters).filter(([, value]) => value !== ''))
      for (const condition of next.conditions) written.append(filterName, condition)
      if (next.search !== '') written.set(searchName, next.search)
      for (const [name, value] of Object.entries(next.time)) if (value !== '') written.set(name, value)
      if (next.sort !== undefined && next.sort !== firstSort) written.set(sortName, next.sort)
      if (next.columns !== undefined) written.set(columnsName, next.columns.join(','))
      if (params.has(boardName)) written.set(boardName, '1')
      for (const cursor of next.trail) written.append(trailName, cursor)
      setParams(written, { replace })
    }
    const state = { filters: given, conditions, search, time, sort, columns, trail }
    return {
      ...state,
      // A change of the columns does not change the rows, so the position is kept.
      set: (change) => write({ ...state, ...change, trail: 'columns' in change ? trail : [] }, true),
      next: (cursor) => write({ ...state, trail: [...trail, cursor] }),
      back: () => write({ ...state, trail: trail.slice(0, -1) }),
    }
  }, [params, setParams, filters, sorts, firstSort, all, range])
}

/** Returns the parameters with these changes. A parameter with an empty value is removed. */
export function withParameters(last: URLSearchParams, change: Readonly<Record<string, string>>): URLSearchParams {
  const written = new URLSearchParams(last)
  for (const [name, value] of Object.entries(change)) {
    if (value === '') written.delete(name)
    else written.set(name, value)
  }
  return written
}

/** Returns the query string of a saved view: everything except the position in the list, in a fixed order. */
export function searchOfView(params: URLSearchParams): string {
  const kept = new URLSearchParams(params)
  kept.delete(trailName)
  kept.sort()
  return kept.toString()
}

/** Returns the name of a view. A shared view also shows its role. */
export const nameOfView = (view: SavedView | SharedView): string =>
  'role' in view ? `${view.name} · ${view.role}` : view.name

export const addressOfView = ({ page, search }: Pick<SavedView, 'page' | 'search'>): string => `/${page}?${search}`
