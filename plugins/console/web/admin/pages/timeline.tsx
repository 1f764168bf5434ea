import { Button, Skeleton } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import type { DetailPage } from '../api/page-types.ts'
import { type Row, type Rows, rowsOf, valueAt } from '../api/row-values.ts'
import { Cell, hasValue } from './cell.tsx'
import sections from './declared-page.module.css'
import { useFormats } from './shown-value.ts'
import classes from './timeline.module.css'
import { type Entry, entriesOf, newestFirst, parametersOf } from './timeline-entries.ts'

/** Number of entries that are shown before the user asks for all. */
const firstEntries = 12
const liveMs = 5_000

interface TimelineViewProps {
  readonly page: Pick<DetailPage, 'moments' | 'timelines'>
  /** Object of the page, and its id in the address. */
  readonly object: Row
  readonly id: string
}

/**
 * Shows what happened to an object, newest first: the moments of the object, and rows of other lists. Shows nothing if
 * nothing is recorded.
 */
export function TimelineView({ page, object, id }: TimelineViewProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const refetchInterval = usePolling()('hinted', liveMs)
  const [isWhole, setWhole] = useState(false)
  const { isLoading, isIncomplete, others } = useQueries({
    queries: page.timelines.map((timeline) => {
      const { params, query } = parametersOf(timeline, object, id)
      return {
        queryKey: [timeline.operation, params, query],
        queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
          rowsOf(await api.call<Rows | readonly Row[]>(timeline, { params, query, signal })),
        refetchInterval,
      }
    }),
    combine: (results) => ({
      isLoading: results.some((result) => result.isLoading),
      isIncomplete: results.some((result) => result.isError),
      others: results.flatMap(({ data }, index) => {
        const timeline = page.timelines[index]
        return timeline === undefined || data === undefined ? [] : entriesOf(timeline, data.items)
      }),
    }),
  })
  const moments = page.moments.flatMap((moment) => {
    const rows = moment.each === undefined ? [object] : (valueAt(object, moment.each) ?? [])
    return entriesOf({ id: moment.each ?? '', ...moment }, rows as readonly Row[])
  })
  const entries = newestFirst([...moments, ...others])
  const shown = isWhole ? entries : entries.slice(0, firstEntries)
  if (entries.length === 0 && !isLoading && !isIncomplete) return null
  return (
    <section className={sections.section}>
      <h2>{translate('admin.timeline.title')}</h2>
      {isLoading && <Skeleton height={20} width="60%" />}
      {isIncomplete && <p className={classes.incomplete}>{translate('admin.timeline.incomplete')}</p>}
      <ol className={classes.entries}>
        {shown.map((entry) => (
          <TimelineEntry key={entry.key} entry={entry} />
        ))}
      </ol>
      {shown.length < entries.length && (
        <Button variant="subtle" size="compact-sm" onClick={() => setWhole(true)}>
          {translate('admin.timeline.earlier', { count: entries.length - shown.length })}
        </Button>
      )}
    </section>
  )
}

function TimelineEntry({ entry: { at, title, columns, row, href } }: { readonly entry: Entry }) {
  const formats = useFormats()
  return (
    <li className={classes.entry}>
      <time dateTime={at} title={formats.exactTime(at)} className={classes.at}>
        {formats.time(at)}
      </time>
      <div className={classes.what}>
        {title !== undefined &&
          (href === undefined ? (
            <span>{title}</span>
          ) : (
            <Link href={href} className={classes.link}>
              {title}
            </Link>
          ))}
        {columns
          .filter((column) => hasValue(column, row))
          .map((column, index) => (
            <span key={column.field} title={column.title}>
              <Cell
                column={title === undefined && index === 0 ? { ...column, link: true } : column}
                row={row}
                href={href}
              />
            </span>
          ))}
      </div>
    </li>
  )
}
