import type { Chart } from '../api/page-types.ts'
import { ChartCard } from './chart-card.tsx'
import classes from './charts.module.css'

export default function Charts({ charts }: { readonly charts: readonly Chart[] }) {
  return (
    <div className={classes.charts}>
      {charts.map((chart) => (
        <ChartCard key={chart.id} chart={chart} />
      ))}
    </div>
  )
}
