import { Button, Skeleton } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Fragment, lazy, Suspense, useEffect, useState } from 'react'
import { Redirect } from 'wouter'
import { siteName, useLanguage } from '../../app/app.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { usePolling } from '../api/live.tsx'
import { onePage } from '../api/operations.ts'
import type { Action, Column, DetailPage, ListPage, Page } from '../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../api/row-values.ts'
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
import { LoadFailure } from './load-state.tsx'
import { Reference } from './reference-cell.tsx'
import { isActionAvailable, startOf } from './row-actions.tsx'
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
  const api = useApi()
  const params = page.param === undefined ? {} : { [page.param]: id }
  const object = useQuery({
    queryKey: [page.operation, params, {}],
    queryFn: ({ signal }) => api.call<Row>(page, { params, signal }),
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
  useEffect(() => {
    document.title = `${name === '' ? page.title : name} · ${siteName}`
  }, [name, page.title])
  const isGone = object.error instanceof CallFailure && object.error.kind === 'missing'
  if (row === undefined || isGone) {
    return object.error === null ? (
      <Skeleton height={28} width="14rem" />
    ) : (
      <LoadFailure error={object.error} isPage onRetry={() => void object.refetch()} />
    )
  }
  return (
    <>
      {name !== '' && <p className={classes.kind}>{page.title}</p>}
      <div className={classes.head}>
        <h1 className={classes.title}>
          <Heading column={heading} row={row} text={name === '' ? page.title : name} />
        </h1>
        <div className={classes.buttons}>
          <ActionButtons actions={page.actions} row={row} onChoose={(action) => choose({ action, row })} />
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
        </div>
      </div>
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

interface ActionButtonsProps {
  readonly actions: readonly Action[]
  readonly row: Row
  onChoose(action: Action): void
}

/** Buttons for the actions that are available for the object. */
function ActionButtons({ actions, row, onChoose }: ActionButtonsProps) {
  const whyNot = useWhyNot()
  const api = useApi()
  return actions
    .filter((action) => isActionAvailable(action, row))
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
  const hasTimeline = page.moments.length + page.timelines.length > 0
  return sections.map(({ title, columns }, index) => (
    <Fragment key={title ?? ''}>
      <section className={classes.section}>
        {title !== undefined && <h2>{title}</h2>}
        <RowDetails columns={columns} row={row} isHeaded={title !== undefined} />
      </section>
      {index === 0 && hasTimeline && id !== undefined && (
        <section className={classes.section}>
          <h2>{translate('admin.timeline.title')}</h2>
          <TimelineView page={page} object={row} id={id} />
        </section>
      )}
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
  const api = useApi()
  const { language } = useLanguage()
  const page = useQuery({
    queryKey: ['page', pageId, language],
    queryFn: ({ signal }) => api.call<ListPage | DetailPage>(onePage, { params: { id: pageId }, signal }),
    staleTime: 5 * 60_000,
  })
  if (page.data === undefined)
    return page.error === null ? null : <LoadFailure error={page.error} onRetry={() => void page.refetch()} />
  return page.data.kind === 'list' ? (
    <RelatedList page={page.data} filter={filter} />
  ) : (
    <RelatedDetail page={page.data} filter={filter} />
  )
}

/** Shows an object without heading and forms. */
function RelatedDetail({ page, filter }: RelatedProps<DetailPage>) {
  const api = useApi()
  const params = Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, String(value)]))
  const object = useQuery({
    queryKey: [page.operation, params, {}],
    queryFn: ({ signal }) => api.call<Row>(page, { params, signal }),
  })
  const { choose, dialog } = useActions(
    page.actions,
    page.sections.flatMap(({ columns }) => columns),
  )
  if (object.data === undefined)
    return object.error === null ? null : <LoadFailure error={object.error} onRetry={() => void object.refetch()} />
  const row = object.data
  return (
    <>
      <Sections page={page} row={row} />
      <div className={classes.buttons}>
        <ActionButtons actions={page.actions} row={row} onChoose={(action) => choose({ action, row })} />
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
  const { language } = useLanguage()
  const api = useApi()
  const page = useQuery({
    queryKey: ['page', pageId, language],
    queryFn: ({ signal }) => api.call<Page>(onePage, { params: { id: pageId }, signal }),
    staleTime: 5 * 60_000,
    placeholderData: (last) => (last?.id === pageId ? last : undefined),
  })
  if (page.data === undefined) {
    return page.error === null ? (
      <Skeleton height={28} width="14rem" />
    ) : (
      <LoadFailure error={page.error} isPage onRetry={() => void page.refetch()} />
    )
  }
  if (page.data.kind === 'frame')
    return (
      <Suspense fallback={<Skeleton height={28} width="14rem" />}>
        <FrameView page={page.data} />
      </Suspense>
    )
  // An address of a row below its list leads to the page of the row.
  if (page.data.kind === 'list' && id !== undefined && page.data.detail !== undefined)
    return <Redirect to={`/${page.data.detail}/${encodeURIComponent(id)}`} replace />
  return page.data.kind === 'list' ? (
    <ListView page={page.data} />
  ) : (
    <DetailView key={id} page={page.data} id={id ?? ''} />
  )
}
