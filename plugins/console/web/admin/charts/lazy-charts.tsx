import { lazy } from 'react'
import { Boundary } from '../../app/boundary.tsx'
import type { Chart } from '../api/page-types.ts'
import { Waiting } from '../pages/load-state.tsx'

/** The chart code is loaded only if the page has a chart. */
const Charts = lazy(() => import('./charts.tsx'))

export interface ChartsProps {
  readonly charts: readonly Chart[]
  /** Time span of all charts. If it is undefined, each chart has its own choice. */
  readonly span?: string | undefined
  /** Element of the titles. Default: `h2`. */
  readonly heading?: 'h2' | 'h3'
}

/** Shows the charts next to each other if there is enough space. */
export const LazyCharts = ({ charts, ...options }: ChartsProps) =>
  charts.length === 0 ? null : (
    <Boundary waiting={<Waiting lines={1} height={240} />}>
      <Charts charts={charts} {...options} />
    </Boundary>
  )
