import { Button } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { Fragment, lazy, useState } from 'react'
import { Redirect } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import type { Column, DetailPage, ListPage, Page } from '../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../api/row-values.ts'
import { useOperation } from '../api/use-operation.ts'
import { usePage } from '../api/use-page.ts'
import { useWhyNot } from '../api/why-not.ts'
import { LazyCharts } from '../charts/lazy-charts.tsx'
import { Tiles } from '../overview/tiles.tsx'
import { useSite } from '../shell/site-context.ts'
import { hasValue } from './cell.tsx'
import { Copied } from './copied.tsx'
import classes from './declared-page.module.css'
import { RowDetails } from './facts.tsx'
import { FormDialog } from './forms/action-dialogs.tsx'
import type { ListState } from './list-state.ts'
import { ListView, Rowset } from './list-view.tsx'
import { LoadState } from './load-state.tsx'
import { PageHead } from './page-head.tsx'
import { Reference } from './reference-cell.tsx'
import { isActionAvailable, RowActions, type RowActionsProps, startOf } from './row-actions.tsx'
import { columnText, useFormats } from './shown-value.ts'
import { allTime } from './time-range.ts'
import { TimelineView } from './timeline.tsx'
import { useActions } from './use-actions.tsx'

const liveMs = 5_000

/** Few products have pages in frames, so their script is loaded with the first one. */
const FrameView = lazy(() => import('./frames/frame-view.tsx'))

/** Shows a detail page with its actions. */
function DetailView({ page, id }: { readonly page: DetailPage; readonly id: string }) {
  const whyNot = useWhyNot()
  const object = useOperation<Row>(page, {
    params: page.param === undefined ? {} : { [page.param]: id },
    refetchInterval: usePolling()(page.live, liveMs),
  })
  const [isChanging, setChanging] = useState(false)
  const { choose, dialog } = useActions(
    page.actions,
    page.sections.flatMap(({ columns }) => columns),
    page.name,
  )
  const row = object.data
  const surroundings = { formats: useFormats(), units: useSite().units }
  const heading = page.sections.flatMap(({ columns }) => columns).find(({ field }) => field === page.name)
  const name = page.name === undefined || row === undefined ? '' : columnText(heading, page.name, row, surroundings)
  const title = name === '' ? page.title : name
  const isGone = object.error instanceof CallFailure && object.error.kind === 'missing'
  if (row === undefined || isGone) return <LoadState of={object} isPage lines={1} />
  return (
    <>
      {name !== '' && <p className={classes.kind}>{page.title}</p>}
      <PageHead title={title} heading={<Heading column={heading} row={row} text={title} />}>
        <ActionButtons
          {...{ row, name: title, actions: page.actions }}
          onChoose={(action) => choose({ action, row })}
        />
        {page.form !== undefined && (
          <Button
            size="sm"
            aria-haspopup="dialog"
            leftSection={<IconPencil size={16} aria-hidden />}
            disabled={!page.form.allowed}
            title={whyNot(page.form)}
            onClick={() => setChanging(true)}
          >
            {page.form.title}
          </Button>
        )}
      </PageHead>
      <Tiles tiles={page.tiles} />
      <LazyCharts charts={page.charts} />
      <Sections page={page} row={row} id={id} />
      {page.related.map(({ page: list, title, filter }) => (
        <section key={`${list} ${title}`} className={classes.related}>
          <h2>{title}</h2>
          <Related page={list} filter={valuesFromRow(filter, row)} />
        </section>
      ))}
      {isChanging && page.form !== undefined && (
        <FormDialog form={page.form} row={row} onClose={() => setChanging(false)} />
      )}
      {dialog}
    </>
  )
}

/** Buttons for the actions that are available for the object. Only the first dangerous one is a button. */
function ActionButtons({ actions, row, name, onChoose }: RowActionsProps) {
  const whyNot = useWhyNot()
  const api = useApi()
  const available = actions.filter((action) => isActionAvailable(action, row))
  const others = available.filter(({ tone }) => tone === 'danger').slice(1)
  const buttons = available
    .filter((action) => !others.includes(action))
    .map((action) => (
      <Button
        key={action.label}
        size="sm"
        variant={action.tone === 'danger' ? 'outline' : 'default'}
        {...(action.tone === 'danger' ? { color: 'red' } : {})}
        disabled={!action.allowed}
        title={whyNot(action)}
        {...startOf(api, action, row, onChoose)}
      >
        {action.label}
      </Button>
    ))
  return [...buttons, <RowActions key="others" actions={others} {...{ row, name, onChoose }} />]
}

interface SectionsProps {
  readonly page: DetailPage
  readonly row: Row
  /** Id of the object in the address. Absent for an object below another one, which shows no timeline. */
  readonly id?: string
}

/** Shows the facts of an object that have a value, and after the first of them what happened to it. */
function Sections({ page, row, id }: SectionsProps) {
  const { translate } = useLanguage()
  const sections = page.sections
    .map(({ columns, ...section }) => ({ ...section, columns: columns.filter((column) => hasValue(column, row)) }))
    .filter(({ columns }) => columns.length > 0)
  if (sections.length === 0) return <p>{translate('admin.empty.nothing')}</p>
  const hasTimeline = page.moments.length + page.timelines.length > 0
  return sections.map(({ title, columns }, index) => (
    <Fragment key={title ?? ''}>
      <section className={classes.section}>
        {title !== undefined && <h2>{title}</h2>}
        <RowDetails columns={columns} row={row} isHeaded={title !== undefined} />
      </section>
      {index === 0 && hasTimeline && id !== undefined && <TimelineView page={page} object={row} id={id} />}
    </Fragment>
  ))
}

/** Shows the name of the object. If the page has it as a reference, this is the name of the other object. */
function Heading({
  column,
  row,
  text,
}: {
  readonly column: Column | undefined
  readonly row: Row
  readonly text: string
}) {
  if (column?.mono) return <Copied text={text}>{text}</Copied>
  if (column?.as !== 'reference') return text
  return <Reference id={String(valueAt(row, column.field))} of={{ labels: column.of?.labels ?? '' }} />
}

interface RelatedProps<Shown> {
  readonly page: Shown
  /** Values of filters and path parameters. */
  readonly filter: Readonly<Record<string, unknown>>
}

/** Shows a list or a detail below its parent object. */
function Related({ page: pageId, filter }: RelatedProps<string>) {
  const page = usePage<ListPage | DetailPage>(pageId)
  if (page.data === undefined) return <LoadState of={page} />
  return page.data.kind === 'list' ? (
    <RelatedList page={page.data} filter={filter} />
  ) : (
    <RelatedDetail page={page.data} filter={filter} />
  )
}

/** Shows an object without heading and forms. */
function RelatedDetail({ page, filter }: RelatedProps<DetailPage>) {
  const params = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]))
  const object = useOperation<Row>(page, { params })
  const { choose, dialog } = useActions(
    page.actions,
    page.sections.flatMap(({ columns }) => columns),
  )
  if (object.data === undefined) return <LoadState of={object} />
  const row = object.data
  return (
    <>
      <Sections page={page} row={row} />
      <div className={classes.buttons}>
        <ActionButtons
          {...{ row, name: page.title, actions: page.actions }}
          onChoose={(action) => choose({ action, row })}
        />
      </div>
      {dialog}
    </>
  )
}

/** Shows a list. Order, columns and position of this list are not stored in the address. */
function RelatedList({ page, filter }: RelatedProps<ListPage>) {
  const [state, setState] = useState<Omit<ListState, 'set' | 'next' | 'back'>>({
    filters: {},
    conditions: [],
    search: '',
    time: allTime,
    sort: undefined,
    columns: undefined,
    trail: [],
  })
  const fixed = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]))
  const { trail } = state
  return (
    <Rowset
      page={page}
      fixed={fixed}
      state={{
        ...state,
        sort: state.sort ?? page.sort,
        set: (change) => setState((last) => ({ ...last, ...change, trail: 'columns' in change ? last.trail : [] })),
        next: (cursor) => setState((last) => ({ ...last, trail: [...trail, cursor] })),
        back: () => setState((last) => ({ ...last, trail: trail.slice(0, -1) })),
      }}
    />
  )
}

interface DeclaredPageProps {
  /** Id of the page. */
  readonly page: string
  /** Id of the displayed object; `undefined` for a list or a page of a single object. */
  readonly id: string | undefined
}

/** Shows a page that a plugin has declared. */
export default function DeclaredPage({ page: pageId, id }: DeclaredPageProps) {
  const page = usePage<Page>(pageId)
  if (page.data === undefined) return <LoadState of={page} isPage lines={1} />
  if (page.data.kind === 'frame') return <FrameView page={page.data} />
  // An address of a row below its list leads to the page of the row.
  if (page.data.kind === 'list' && id !== undefined && page.data.detail !== undefined)
    return <Redirect to={`/${page.data.detail}/${encodeURIComponent(id)}`} replace />
  return page.data.kind === 'list' ? (
    <ListView page={page.data} />
  ) : (
    <DetailView key={id} page={page.data} id={id ?? ''} />
  )
}
