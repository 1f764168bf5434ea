import type { Chart } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import type { ChartData } from './chart-data.ts'
import classes from './charts.module.css'

/** Maximum number of parts. Only the largest ones are shown. */
const maxParts = 8

/** Shows the parts of a sum as bars with their numbers, the largest first. Parts of different units are separate sums. */
export function Share({ chart, data }: { readonly chart: Chart; readonly data: ChartData }) {
  const formats = useFormats()
  const parts = data.lines.filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum)
  const whole = (unit: ChartData['lines'][number]['amount']) =>
    parts.filter(({ amount }) => amount === unit).reduce((sum, part) => sum + part.sum, 0)
  return (
    <ul className={classes.parts}>
      {parts.slice(0, maxParts).map(({ key, title, tone, sum, amount }) => {
        const percent = (sum / whole(amount)) * 100
        return (
          <li key={key}>
            <span className={classes.part}>{title}</span>
            <span>
              <strong>{formats.chart(sum, chart.unit, amount)}</strong> {formats.count(Math.round(percent), 'percent')}
            </span>
            <svg className={classes.track} data-tone={tone} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden>
              <rect width="100" height="4" />
              <rect width={percent} height="4" />
            </svg>
          </li>
        )
      })}
    </ul>
  )
}
