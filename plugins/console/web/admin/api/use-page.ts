import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Api } from './call.ts'
import { useApi } from './context.tsx'
import { onePage } from './operations.ts'
import type { OwnPageView, Page } from './page-types.ts'

/** Query for a page with its operations. Its key starts with `page`, because writes do not change pages. */
export const pageQuery = <View extends Page | OwnPageView>(api: Api, id: string, language: string) => ({
  queryKey: ['page', id, language],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => api.call<View>(onePage, { params: { id }, signal }),
  staleTime: 5 * 60_000,
})

/**
 * Reads a page in the language of the user. The page in the former language stays until then. The page is deferred, so
 * that the browser can handle input while it renders.
 */
export function usePage<View extends Page | OwnPageView>(
  id: string,
): Pick<UseQueryResult<View>, 'data' | 'error' | 'refetch'> {
  const query = pageQuery<View>(useApi(), id, useLanguage().language)
  const { data, error, refetch } = useQuery({ ...query, placeholderData: keepPreviousData })
  return { data: useDeferredValue(data), error, refetch }
}
