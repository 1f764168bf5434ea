import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useSpeech } from '../../app/app.tsx'
import { siteName } from '../../app/site-name.ts'
import type { Api } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import type { OwnPageView } from '../api/page-types.ts'
import { LoadFailure } from '../pages/load-failure.tsx'
import { onePage } from '../shell/session/session-calls.ts'
import { ownPages } from './own-pages.ts'

/** What a page by hand may call; the same question for the page and for the palette. */
export const ownPageQuery = (api: Api, id: string, language: string) => ({
  queryKey: ['page', id, language],
  queryFn: ({ signal }: { signal: AbortSignal }) => api.call<OwnPageView>(onePage, { params: { id }, signal }),
  staleTime: 5 * 60_000,
})

/** A page by hand, with what its reader may do there. */
export function OwnPage({ id }: { readonly id: string }) {
  const { language } = useSpeech()
  const page = useQuery({ ...ownPageQuery(useApi(), id, language), placeholderData: (last) => last })
  const title = page.data?.title
  useEffect(() => {
    if (title !== undefined) document.title = `${title} · ${siteName}`
  }, [title])
  const View = ownPages[id]?.view
  if (View !== undefined && page.data !== undefined) return <View page={page.data} />
  return page.error === null ? null : <LoadFailure error={page.error} isPage onRetry={() => void page.refetch()} />
}
