import { useState } from 'react'
import { useSpeech } from '../../app/app.tsx'
import type { Chart } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import type { ChartData } from './chart-data.ts'
import classes from './number-table.module.css'

/** The numbers of a chart, the newest first, for whoever does not see it or wants to read them. */
export function NumberTable({ chart, data }: { readonly chart: Chart; readonly data: ChartData }) {
  const { say } = useSpeech()
  const formats = useFormats()
  const [isOpen, setOpen] = useState(false)
  const name = say('admin.chart.table-of', { title: chart.title })
  return (
    <details className={classes.details} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={name}>{say('admin.chart.table')}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <section className={classes.scroll} tabIndex={0} aria-label={name}>
          <table>
            <thead>
              <tr>
                <th scope="col">{say('admin.chart.time')}</th>
                {data.lines.map(({ key, title }) => (
                  <th key={key} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.moments
                .map((moment, place) => (
                  <tr key={moment}>
                    <th scope="row">
                      {data.isDaily ? formats.day(new Date(moment), true) : formats.second(new Date(moment))}
                    </th>
                    {data.lines.map(({ key, values, amount }) => {
                      const value = values[place]
                      return (
                        <td key={key}>{typeof value === 'number' ? formats.chart(value, chart.unit, amount) : '–'}</td>
                      )
                    })}
                  </tr>
                ))
                .toReversed()}
            </tbody>
          </table>
        </section>
      )}
    </details>
  )
}
