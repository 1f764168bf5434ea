import { useQuery } from '@tanstack/react-query'
import { useSpeech } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import type { Chart } from '../api/page-types.ts'
import { LazyCharts } from '../charts/lazy-charts.tsx'
import { LoadFailure } from '../pages/load-failure.tsx'
import { charts } from './session/session-calls.ts'

/** Charts of the overview that this person may see. */
export function OverviewCharts() {
  const { language } = useSpeech()
  const api = useApi()
  const declared = useQuery({
    queryKey: [charts.path, language],
    queryFn: ({ signal }) => api.call<{ items: readonly Chart[] }>(charts, { signal }),
    staleTime: 5 * 60_000,
    placeholderData: (last) => last,
  })
  if (declared.error !== null) return <LoadFailure error={declared.error} onRetry={() => void declared.refetch()} />
  return <LazyCharts charts={declared.data?.items ?? []} />
}
