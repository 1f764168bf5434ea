import { NativeSelect } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import type { Chart } from '../api/page-types.ts'
import { useFormats } from '../pages/shown-value.ts'
import type { ChartData } from './chart-data.ts'
import classes from './charts.module.css'

interface NumberTableProps {
  readonly chart: Chart
  readonly data: ChartData
  /** Content below the table. */
  readonly children?: ReactNode
}

/** Shows the numbers of a chart as a table, the newest first. Screen readers read this table. */
export function NumberTable({ chart, data, children }: NumberTableProps) {
  const { translate } = useLanguage()
  const formats = useFormats()
  const [isOpen, setOpen] = useState(false)
  const name = translate('admin.chart.table-of', { title: chart.title })
  return (
    <details className={classes.details} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary aria-label={name}>{translate('admin.chart.table')}</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users must be able to scroll this element
        <section className={classes.scroll} tabIndex={0} aria-label={name}>
          <table>
            <thead>
              <tr>
                <th scope="col">{translate('admin.chart.time')}</th>
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
      {isOpen && children}
    </details>
  )
}

/** Origin of the counts of a chart: the time at which they begin, and the instances that were asked for them. */
export interface Counted {
  readonly since?: string | null
  readonly instances?: readonly { readonly instance: string; readonly answered: boolean }[]
}

/** Returns the part of the id of an instance that users know: host and process, without the random part. */
const hostOf = (instance: string) => instance.split(':').slice(0, 2).join(' · ')

interface SourceProps extends Required<Pick<Counted, 'instances'>> {
  readonly title: string
  /** The selected instance; empty for all instances. */
  readonly of: string
  /** Time when the counts begin. */
  readonly time: string | undefined
  onChoose(instance: string): void
}

/** Shows which instances the displayed data comes from, and lets the user choose one of several instances. */
export function Source({ title, instances, of, time, onChoose }: SourceProps) {
  const { translate } = useLanguage()
  const shown = instances.filter(({ instance, answered }) => answered && (of === '' || instance === of))
  const [only] = shown
  return (
    <>
      {only !== undefined && time !== undefined && (
        <p className={classes.source}>
          {shown.length === 1
            ? translate('admin.chart.source', { instance: hostOf(only.instance), time })
            : translate('admin.chart.joined', { count: shown.length, time })}
        </p>
      )}
      {instances.length > 1 && (
        <NativeSelect
          size="xs"
          className={classes.picker}
          aria-label={translate('admin.chart.instance', { title })}
          value={of}
          onChange={(event) => onChoose(event.currentTarget.value)}
          data={[
            { value: '', label: translate('admin.chart.all-instances', { count: instances.length }) },
            ...instances.map(({ instance }) => ({ value: instance, label: hostOf(instance) })),
          ]}
        />
      )}
    </>
  )
}

/** Shows which instances did not respond. */
export function Silent({ instances }: Required<Pick<Counted, 'instances'>>) {
  const { translate, language } = useLanguage()
  const silent = instances.filter(({ answered }) => !answered).map(({ instance }) => hostOf(instance))
  if (silent.length === 0) return null
  return (
    <p className={classes.silent} role="status">
      {translate('admin.chart.silent', { instances: new Intl.ListFormat(language).format(silent) })}
    </p>
  )
}
