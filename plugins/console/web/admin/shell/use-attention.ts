import { useQueries, useQuery } from '@tanstack/react-query'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import { type Attention, countOf } from '../api/page-types.ts'
import { attention } from './session/session-calls.ts'

/** Asked again so often while somebody looks. */
const everyMs = 15_000

/** What is declared to stand at a place, with what its operations answer now. */
export function useAttention(place: NonNullable<Attention['place']>) {
  const api = useApi()
  const polling = usePolling()
  const declared = useQuery({
    queryKey: [attention.path],
    queryFn: ({ signal }) => api.call<{ items: readonly Attention[] }>(attention, { signal }),
  })
  const items = (declared.data?.items ?? []).filter((item) => (item.place ?? 'overview') === place)
  const answers = useQueries({
    queries: items.map((item) => ({
      queryKey: [item.operation, {}, item.query, 'attention'],
      queryFn: ({ signal }: { signal: AbortSignal }) => api.call<unknown>(item, { query: item.query, signal }),
      refetchInterval: polling(item.live, everyMs),
    })),
  })
  const counted = items.map((item, index) => {
    const { data, error } = answers[index] ?? {}
    return {
      item,
      count: data === undefined ? 0 : countOf(item, data),
      isUnknown: Boolean(error) && data === undefined,
      error,
    }
  })
  return { declared, items, answers, counted }
}
