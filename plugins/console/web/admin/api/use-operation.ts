import {
  keepPreviousData,
  type QueryKey,
  type UseQueryOptions,
  type UseQueryResult,
  useQuery,
} from '@tanstack/react-query'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from './context.tsx'
import type { Callable, Value } from './operations.ts'
import type { Operation } from './page-types.ts'

type Query<Result> = UseQueryOptions<Result, Error, Result, QueryKey>

interface ReadOptions<Result> extends Pick<Query<Result>, 'enabled' | 'staleTime' | 'refetchInterval'> {
  readonly params?: Readonly<Record<string, Value>>
  readonly query?: Readonly<Record<string, Value>>
}

/**
 * Reads an operation. Writes and change messages find the data by the id of an operation that the server has described,
 * and by the path of another one. With other parameters or in another language, the last data stays until it is read.
 *
 * @param operation without it, set `enabled` to false
 */
export function useOperation<Result>(
  operation: Operation | Callable | undefined,
  { params = {}, query = {}, ...options }: ReadOptions<Result> = {},
): UseQueryResult<Result> {
  const api = useApi()
  const { language } = useLanguage()
  return useQuery<Result, Error, Result, QueryKey>({
    queryKey: [operation && ('operation' in operation ? operation.operation : operation.path), params, query, language],
    queryFn: ({ signal }) => api.call<Result>(operation as Callable, { params, query, signal }),
    placeholderData: keepPreviousData,
    ...options,
  })
}
