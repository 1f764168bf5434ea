import { Button, Checkbox, Table } from '@mantine/core'
import {
  IconArrowDown,
  IconArrowUp,
  IconChevronRight,
  IconDownload,
  IconPlus,
  IconRefresh,
  IconUpload,
} from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { lazy, memo, type ReactNode, useDeferredValue, useId, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { Boundary } from '../../app/boundary.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import type { Account } from '../api/operations.ts'
import type { Column, Form, ListPage } from '../api/page-types.ts'
import { type Row, type Rows, valueAt } from '../api/row-values.ts'
import { useWhyNot } from '../api/why-not.ts'
import { LazyCharts } from '../charts/lazy-charts.tsx'
import { Tiles } from '../overview/tiles.tsx'
import { pageSizes } from '../shell/kept.ts'
import { useUserPreferences } from '../shell/kept-context.ts'
import { pressed } from '../shell/shortcuts.ts'
import { useZone } from '../shell/zone.ts'
import { Cell, hasValue, isNumeric } from './cell.tsx'
import { ColumnEdge } from './column-edge.tsx'
import { sentConditions } from './conditions.ts'
import { FilterBar } from './filter-bar.tsx'
import { BulkBar, FormDialog } from './forms/action-dialogs.tsx'
import { chosenColumns, columnsOf, differenceOf, exportOf, withoutPosition } from './list-columns.ts'
import { type ListState, useListState } from './list-state.ts'
import { ColumnMenu, Pager, SearchField, SizeChoice, toggled } from './list-tools.tsx'
import { ListTotals } from './list-totals.tsx'
import classes from './list-view.module.css'
import loadState from './load-state.module.css'
import { LoadState, NothingFound, Waiting } from './load-state.tsx'
import { PageHead } from './page-head.tsx'
import { RowActions } from './row-actions.tsx'
import { SavedViews, useDefaultView } from './saved-views.tsx'
import { namingColumn, useRowName } from './shown-value.ts'
import { TimeFilter } from './time-filter.tsx'
import { allTime, boundsOf } from './time-range.ts'
import { ToolButton } from './tool-button.tsx'
import { type ChosenAction, useActions } from './use-actions.tsx'
import { useRows } from './use-rows.ts'
import { BoardSwitch, useIsBoard } from './work/board-switch.tsx'
import { EditableCell } from './work/editable-cell.tsx'

/** These parts are loaded when the user opens them. */
const BoardView = lazy(() => import('./work/board-view.tsx'))
const ImportDialog = lazy(() => import('./work/import-dialog.tsx'))

/** Shows a list with its search, filters, order, columns and actions. */
export function ListView({ page }: { readonly page: ListPage }) {
  const whyNot = useWhyNot()
  const state = useListState(page)
  const { translate } = useLanguage()
  useDefaultView(page)
  const [form, setForm] = useState<Form>()
  const [isImporting, setImporting] = useState(false)
  return (
    <>
      <PageHead title={page.title} lead={page.lead}>
        {[...page.forms, ...(page.create === undefined ? [] : [page.create])].map((one) => (
          <Button
            key={one.title}
            aria-haspopup="dialog"
            variant={one === page.create ? 'filled' : 'default'}
            leftSection={one === page.create ? <IconPlus size={16} aria-hidden /> : undefined}
            disabled={!one.allowed}
            title={whyNot(one)}
            onClick={() => setForm(one)}
          >
            {one.title}
          </Button>
        ))}
        {page.import !== undefined && (
          <Button
            aria-haspopup="dialog"
            variant="default"
            leftSection={<IconUpload size={16} aria-hidden />}
            disabled={!page.import.allowed}
            title={whyNot(page.import)}
            onClick={() => setImporting(true)}
          >
            {translate('admin.import')}
          </Button>
        )}
        {page.links.map(({ page: linked, label, creates = false }) => (
          <Button
            key={linked}
            component={Link}
            href={`/${linked}`}
            variant={creates ? 'filled' : 'default'}
            leftSection={creates ? <IconPlus size={16} aria-hidden /> : undefined}
            rightSection={creates ? undefined : <IconChevronRight size={16} aria-hidden />}
          >
            {label}
          </Button>
        ))}
      </PageHead>
      <Tiles tiles={page.tiles} />
      <LazyCharts charts={page.charts} />
      <Rowset page={page} state={state} tools={<SavedViews page={page} />} onCreate={() => setForm(page.create)} />
      {isImporting && (
        <Boundary>
          <ImportDialog page={page} onClose={() => setImporting(false)} />
        </Boundary>
      )}
      {form !== undefined && <FormDialog form={form} row={{}} onClose={() => setForm(undefined)} />}
    </>
  )
}

interface RowsetProps {
  readonly page: ListPage
  readonly state: ListState
  /** Filters that the parent page sets. */
  readonly fixed?: Readonly<Record<string, string>>
  /** Tools in addition to those of every list. */
  readonly tools?: ReactNode
  /** Opens the form for a new row. Only a list with its own heading has this button. */
  onCreate?(): void
}

/** Shows the rows of a list with all controls except the heading. */
export function Rowset({ page, state, fixed = {}, tools, onCreate }: RowsetProps) {
  const { translate, language } = useLanguage()
  const api = useApi()
  const { kept, lists } = useUserPreferences()
  const zone = useZone().name
  const choice = lists[page.id] ?? {}
  const shown = new Set(state.columns ?? chosenColumns(page, choice))
  const columns = page.columns.filter(({ field }) => shown.has(field))
  const size = choice.size ?? pageSizes[0]
  // While a column is sized, its width is stored here, so that the browser storage is written only once.
  const [moved, setMoved] = useState<Widths>()
  const headId = useId()
  const widths = moved ?? choice.widths ?? noWidths
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set())
  const { choose, dialog } = useActions(page.actions, page.columns)
  const isBoard = useIsBoard() && page.board !== undefined
  const cursor = state.trail.at(-1)
  const client = useQueryClient()
  const query: Record<string, string | number | readonly string[]> = {
    ...state.filters,
    ...fixed,
    ...(state.conditions.length === 0 ? {} : { filter: state.conditions }),
    ...(page.search === undefined || state.search === '' ? {} : { [page.search.name]: state.search }),
    ...(state.sort === undefined ? {} : { sort: state.sort }),
    ...(cursor === undefined ? {} : { cursor }),
  }
  // Fixed filters are path parameters or filters of the list.
  const params = Object.fromEntries(Object.entries(fixed).filter(([name]) => page.path.includes(`{${name}}`)))
  for (const name of Object.keys(params)) delete query[name]
  /** Returns the limits and conditions that depend on the time and the user. */
  const limits = () => {
    const now = Date.now()
    const userId = client.getQueryData<Account>(['account'])?.id
    const filter = sentConditions(state.conditions, page.filters, { userId, now, zone })
    return { ...boundsOf(state.time, now, zone), ...(filter.length === 0 ? {} : { filter }) }
  }
  const wanted = { params, query, time: [state.time, zone], limits }
  const rows = useRows(page, wanted, { size, enabled: !isBoard })
  const pickable = page.bulk.length > 0
  // The rows are deferred, so that the browser can handle input while they render.
  const data = useDeferredValue(rows.data)
  const clear = () => state.set({ filters: {}, conditions: [], search: '', time: allTime })
  // The address may contain values that the server rejects and that no control shows. A button then clears the filters.
  const isRejected = rows.error instanceof CallFailure && rows.error.kind === 'invalid'
  const isTimed = state.time.from !== '' || state.time.to !== ''
  const isFiltered = state.search !== '' || isTimed || Object.keys(state.filters).length + state.conditions.length > 0
  const isEmpty = !isBoard && data?.items.length === 0
  const onWidth = (field: string, width: number | undefined) => {
    const { [field]: _, ...others } = choice.widths ?? {}
    kept.setList(page.id, { widths: width === undefined ? others : { ...others, [field]: width } })
    setMoved(undefined)
  }
  const onColumns = (next: ReadonlySet<string>) => {
    kept.setList(page.id, { columns: differenceOf(page, next) })
    state.set({ columns: columnsOf(page, next) })
  }
  return (
    <section aria-busy={rows.isFetching || data !== rows.data} className={classes.rowset}>
      <div className={classes.tools}>
        {page.search !== undefined && <SearchField title={page.search.title} state={state} />}
        <FilterBar
          filters={page.filters.filter(({ name }) => !(name in fixed))}
          state={state}
          rows={data?.items ?? []}
        />
        {page.range !== undefined && (
          <TimeFilter title={page.range.title} range={state.time} onChange={(time) => state.set({ time })} />
        )}
        <div className={classes.toolsEnd}>
          {page.board !== undefined && <BoardSwitch />}
          {tools}
          <ToolButton
            Icon={IconDownload}
            label={translate('admin.export')}
            component="a"
            download=""
            href={exportOf(api, page, { ...query, ...params, ...limits() }, columns, language)}
          />
          <ColumnMenu columns={page.columns} shown={shown} onChange={onColumns} />
          <ToolButton Icon={IconRefresh} label={translate('admin.reload')} onClick={() => void rows.refetch()} />
        </div>
      </div>
      <LoadState of={{ data, error: rows.error, refetch: rows.refetch }} lines={isBoard ? 0 : 6} height={20} />
      {isRejected && (
        <Button variant="default" size="sm" className={classes.clear} onClick={clear}>
          {translate('admin.empty.clear')}
        </Button>
      )}
      {isBoard && (
        <Boundary waiting={<Waiting lines={6} height={20} />}>
          <BoardView page={page} rows={{ ...wanted, query: withoutPosition(query) }} onChoose={choose} />
        </Boundary>
      )}
      {isEmpty && isFiltered && <NothingFound onClear={clear} />}
      {isEmpty && !isFiltered && (
        <div className={loadState.empty}>
          <p>{page.empty ?? translate('admin.empty.nothing')}</p>
          {/* A list below its parent object has no heading with an explanation, so the explanation is shown here. */}
          {onCreate === undefined && page.lead !== undefined && <p>{page.lead}</p>}
          {onCreate !== undefined && page.create?.allowed && (
            <Button size="sm" leftSection={<IconPlus size={16} aria-hidden />} onClick={onCreate}>
              {page.create.title}
            </Button>
          )}
        </div>
      )}
      {!isBoard && pickable && <BulkBar {...{ page, picked }} rows={data?.items ?? []} onDone={setPicked} />}
      {!isBoard && data !== undefined && data.items.length > 0 && (
        <>
          <div className={classes.scroll}>
            {/* The table roles are explicit, because CSS may show the rows as cards. */}
            <Table role="table" verticalSpacing="xs" horizontalSpacing="md" highlightOnHover>
              <Table.Thead role="rowgroup">
                <Table.Tr role="row">
                  {pickable && (
                    <Table.Th role="columnheader" className={classes.pick}>
                      <PickAll rows={data.items} page={page} picked={picked} onChange={setPicked} />
                    </Table.Th>
                  )}
                  {columns.map((column) => (
                    <Table.Th
                      data-numeric={isNumeric(column) || undefined}
                      data-name={column === namingColumn(columns) || undefined}
                      key={column.field}
                      role="columnheader"
                      {...sizedTo(widths[column.field])}
                      {...sortOf(column, page, state)}
                    >
                      <HeadTitle id={`${headId}${column.field}`} column={column} page={page} state={state} />
                      <ColumnEdge
                        describedBy={`${headId}${column.field}`}
                        width={widths[column.field]}
                        onMove={(width) => setMoved({ ...widths, [column.field]: width })}
                        onChoose={(width) => onWidth(column.field, width)}
                      />
                    </Table.Th>
                  ))}
                  {page.actions.length > 0 && (
                    <Table.Th role="columnheader" className={classes.actions}>
                      <span className="visually-hidden">{translate('admin.actions')}</span>
                    </Table.Th>
                  )}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody role="rowgroup">
                {data.items.map((row) => (
                  <RowLine
                    key={String(valueAt(row, page.key))}
                    {...{ row, page, widths, pickable }}
                    shown={[...shown].join()}
                    isPicked={picked.has(keyOf(row, page))}
                    onPick={setPicked}
                    onChoose={choose}
                  />
                ))}
              </Table.Tbody>
            </Table>
          </div>
          <ListTotals columns={columns} rows={data.items} isWhole={isWhole(data, state)} />
          <Pager data={data} state={state}>
            {page.isPaged && <SizeChoice size={size} onChange={(next) => kept.setList(page.id, { size: next })} />}
          </Pager>
        </>
      )}
      {dialog}
    </section>
  )
}

/** True if the displayed rows are all rows that match the filters. */
const isWhole = ({ items, total, next }: Rows, { trail }: ListState) =>
  trail.length === 0 && typeof next !== 'string' && (total === null || items.length >= total)

type Widths = Readonly<Record<string, number>>
const noWidths: Widths = {}

/** Returns the attributes of a cell in a column that the user has sized. */
const sizedTo = (width: number | undefined) =>
  width === undefined ? {} : { 'data-sized': true, style: { '--column-width': `${width}px` } }

const keyOf = (row: Row, page: ListPage) => String(valueAt(row, page.key))

interface RowLineProps {
  readonly row: Row
  readonly page: ListPage
  /** Members of the displayed columns, separated by commas. */
  readonly shown: string
  readonly widths: Widths
  readonly pickable: boolean
  readonly isPicked: boolean
  onPick(change: (picked: ReadonlySet<string>) => ReadonlySet<string>): void
  onChoose(chosen: ChosenAction): void
}

/** A row of the table. It renders only if its properties change, so these are the same objects in each render. */
const RowLine = memo(({ row, page, shown, widths, pickable, isPicked, onPick, onChoose }: RowLineProps) => {
  const { translate } = useLanguage()
  const fields = shown.split(',')
  const columns = page.columns.filter(({ field }) => fields.includes(field))
  const [, go] = useLocation()
  const key = keyOf(row, page)
  const href = page.detail === undefined ? undefined : `/${page.detail}/${encodeURIComponent(key)}`
  const name = useRowName({ columns, key: page.key })(row)
  const pick = () => onPick((picked) => toggled(picked, key))
  return (
    <Table.Tr
      role="row"
      tabIndex={-1}
      onKeyDown={(event) => {
        const { target, currentTarget } = event
        if (target !== currentTarget) return
        const shortcut = pressed('lists', event)
        const other =
          shortcut === 'next'
            ? currentTarget.nextElementSibling
            : shortcut === 'previous' && currentTarget.previousElementSibling
        if (other instanceof HTMLElement) other.focus()
        if (shortcut === 'open' && href !== undefined) go(href)
        if (shortcut === 'pick' && pickable) pick()
      }}
      onClick={({ target, currentTarget }) => {
        // Clicks in menus and dialogs of the row bubble here although these elements are elsewhere in the document.
        // Buttons and links in the row have their own action.
        const isOfRow = target instanceof Element && currentTarget.contains(target)
        if (!isOfRow || target.closest('a, button, input, label') !== null) return
        if (href !== undefined && getSelection()?.isCollapsed !== false) go(href)
      }}
      data-opens={href !== undefined || undefined}
      data-picked={isPicked || undefined}
    >
      {pickable && (
        <Table.Td role="cell" className={classes.pick}>
          <Checkbox size="sm" aria-label={translate('admin.pick', { name: key })} checked={isPicked} onChange={pick} />
        </Table.Td>
      )}
      {columns.map((column) => (
        <Table.Td
          key={column.field}
          role="cell"
          data-title={column.title}
          data-empty={!hasValue(column, row) || undefined}
          data-name={column === namingColumn(columns) || undefined}
          data-numeric={isNumeric(column) || undefined}
          {...sizedTo(widths[column.field])}
        >
          <EditableCell {...{ page, row, name, onChoose }} field={column.field}>
            <Cell column={column} row={row} href={href} />
          </EditableCell>
        </Table.Td>
      ))}
      {page.actions.length > 0 && (
        <Table.Td role="cell" className={classes.actions}>
          <RowActions actions={page.actions} row={row} name={name} onChoose={(action) => onChoose({ action, row })} />
        </Table.Td>
      )}
    </Table.Tr>
  )
})

interface PickAllProps {
  readonly rows: readonly Row[]
  readonly page: ListPage
  readonly picked: ReadonlySet<string>
  onChange(picked: ReadonlySet<string>): void
}

function PickAll({ rows, page, picked, onChange }: PickAllProps) {
  const { translate } = useLanguage()
  const keys = rows.map((row) => keyOf(row, page))
  const count = keys.filter((key) => picked.has(key)).length
  return (
    <Checkbox
      size="sm"
      aria-label={translate('admin.pick-page')}
      checked={count === keys.length}
      indeterminate={count > 0 && count < keys.length}
      onChange={() => onChange(new Set(count === keys.length ? [] : keys))}
    />
  )
}

interface HeadProps {
  readonly id: string
  readonly column: Column
  readonly page: ListPage
  readonly state: ListState
}

function directionOf({ field }: Column, { sort }: ListState) {
  return sort === field ? 'ascending' : sort === `-${field}` ? 'descending' : undefined
}

/** Returns the attribute that tells assistive technology the order of a column that can be sorted. */
const sortOf = (column: Column, page: ListPage, state: ListState) =>
  page.sorts.includes(column.field) ? ({ 'aria-sort': directionOf(column, state) ?? 'none' } as const) : {}

function HeadTitle({ id, column, page, state }: HeadProps) {
  const { field, title, description } = column
  if (!page.sorts.includes(field))
    return (
      <span id={id} title={description}>
        {title}
      </span>
    )
  const direction = directionOf(column, state)
  const Arrow = direction === 'descending' ? IconArrowDown : IconArrowUp
  return (
    <button
      type="button"
      id={id}
      className={classes.sort}
      title={description}
      onClick={() => state.set({ sort: direction === 'ascending' ? `-${field}` : field })}
    >
      {title}
      {direction !== undefined && <Arrow size={14} aria-hidden />}
    </button>
  )
}
