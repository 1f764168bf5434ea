import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import type { ListPage } from '../api/page-types.ts'
import { type Row, type Rows, rowsOf } from '../api/row-values.ts'

const liveMs = 10_000

/** The rows that a list or a column of a board shows. */
export interface RowQuery {
  readonly params: Readonly<Record<string, string>>
  /** Filters, search, order and position. */
  readonly query: Readonly<Record<string, string | number | readonly string[]>>
  /** Time range and time zone. */
  readonly time: readonly unknown[]
  /** Returns the parameters that depend on the time and the user. */
  limits(): Readonly<Record<string, string | readonly string[]>>
}

/** Reads rows of a list. While other rows are read, the last rows stay. */
export function useRows(
  page: ListPage,
  { params, query, time, limits }: RowQuery,
  { size, enabled = true }: { readonly size: number; readonly enabled?: boolean },
): UseQueryResult<Rows> {
  const api = useApi()
  const sent = { ...query, ...(page.isPaged && { size }), ...(page.canCount && { count: 'capped' }) }
  return useQuery({
    enabled,
    queryKey: [page.operation, params, sent, ...time],
    queryFn: async ({ signal }) =>
      rowsOf(await api.call<Rows | readonly Row[]>(page, { params, query: { ...sent, ...limits() }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: usePolling()(page.live, liveMs),
  })
}
