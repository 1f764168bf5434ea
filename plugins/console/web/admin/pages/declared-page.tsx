import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSpeech } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Page } from '../api/page-types.ts'
import { onePage } from '../shell/session/session-calls.ts'
import { DetailView } from './detail-view.tsx'
import { ListView } from './list-view.tsx'
import { LoadFailure } from './load-failure.tsx'

interface DeclaredPageProps {
  /** Id of the page. */
  readonly page: string
  /** Of the thing that it shows. */
  readonly id: string | undefined
}

/** A page as its plugin declared it. */
export default function DeclaredPage({ page: pageId, id }: DeclaredPageProps) {
  const { language } = useSpeech()
  const api = useApi()
  const page = useQuery({
    queryKey: ['page', pageId, language],
    queryFn: ({ signal }) => api.call<Page>(onePage, { params: { id: pageId }, signal }),
    staleTime: 5 * 60_000,
    placeholderData: (last) => (last?.id === pageId ? last : undefined),
  })
  if (page.data === undefined) {
    return page.error === null ? (
      <Skeleton height={28} width="14rem" />
    ) : (
      <LoadFailure error={page.error} isPage onRetry={() => void page.refetch()} />
    )
  }
  return page.data.kind === 'list' ? (
    <ListView page={page.data} />
  ) : (
    <DetailView key={id} page={page.data} id={id ?? ''} />
  )
}
