import { lazy, Suspense } from 'react'
import { Boundary } from '../../app/boundary.tsx'
import type { Chart } from '../api/page-types.ts'
import { Waiting } from '../pages/load-state.tsx'

/** The chart code is loaded only if the page has a chart. */
const Charts = lazy(() => import('./charts.tsx'))

/** Shows the charts next to each other if there is enough space. */
export const LazyCharts = ({ charts }: { readonly charts: readonly Chart[] }) =>
  charts.length === 0 ? null : (
    <Boundary>
      <Suspense fallback={<Waiting lines={1} height={240} />}>
        <Charts charts={charts} />
      </Suspense>
    </Boundary>
  )
