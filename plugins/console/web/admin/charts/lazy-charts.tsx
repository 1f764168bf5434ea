import { lazy, Suspense } from 'react'
import { Boundary } from '../../app/boundary.tsx'
import type { Chart } from '../api/page-types.ts'
import { Waiting } from '../pages/load-state.tsx'

/** What draws is loaded where there is something to draw. */
const Charts = lazy(() => import('./charts.tsx'))

/** Charts next to each other where there is room. */
export const LazyCharts = ({ charts }: { readonly charts: readonly Chart[] }) =>
  charts.length === 0 ? null : (
    <Boundary>
      <Suspense fallback={<Waiting lines={1} height={240} />}>
        <Charts charts={charts} />
      </Suspense>
    </Boundary>
  )
