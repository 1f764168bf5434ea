import { Button } from '@mantine/core'
import { IconGripVertical } from '@tabler/icons-react'
import { type PointerEvent, useEffect, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import type { Action, Column, ListPage } from '../../api/page-types.ts'
import { labelOf, type Row, valueAt } from '../../api/row-values.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { toasts } from '../../shell/toasts.ts'
import { Cell } from '../cell.tsx'
import { conditionsOn, valuesOf, withConditions } from '../conditions.ts'
import { boardName, filterName } from '../list-state.ts'
import { LoadState } from '../load-state.tsx'
import { isActionAvailable, RowActions } from '../row-actions.tsx'
import { namingColumn, useRowName } from '../shown-value.ts'
import type { ChosenAction } from '../use-actions.tsx'
import { type RowQuery, useRows } from '../use-rows.ts'
import classes from './work.module.css'
import './texts.ts'

/** Number of cards by which a column grows, and largest page of a list. */
const step = 20
const maxCards = 200
/** Distance in pixels after which a pressed pointer moves the card. */
const dragStart = 6

interface BoardProps {
  readonly page: ListPage
  /** The rows of the list, without its position. */
  readonly rows: RowQuery
  onChoose(chosen: ChosenAction): void
}

/** A card that the pointer moves, and the value of the column below the pointer. */
interface Drag {
  readonly row: Row
  readonly over: string | undefined
}

/** Data and functions of the board that its columns and cards use. */
interface Shared extends Pick<BoardProps, 'page'> {
  titleOf(value: unknown): string
  /** Returns the action that moves a row to a value, if its state allows one. */
  moveOf(row: Row, value: unknown): Action | undefined
  choose(row: Row, action: Action): void
  /** Returns true once for the card that the user has moved, so that it gets the focus in its new column. */
  isSought(key: string): boolean
  onDrag(drag: Drag | undefined): void
  onDrop(drag: Drag, name: string): void
}

/**
 * Shows the rows of a list as cards in columns. A card can be moved only where an action of its row leads. The card stays in
 * its column until the server has moved it, so it is never in a wrong one. It is the default export, because `lazy` loads it.
 */
export default function BoardView({ page, rows, onChoose }: BoardProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const [drag, setDrag] = useState<Drag>()
  const sought = useRef<string>(undefined)
  const { column: field, values } = page.board as NonNullable<ListPage['board']>
  const column = page.columns.find((one) => one.field === field) as Column
  const { [field]: equal = [], ...others } = rows.query
  const conditions = conditionsOn([rows.query['filter'] ?? []].flat().map(String), field)
  const wanted = [...valuesOf(conditions, 'in'), ...[equal].flat().map(String)]
  const words: Readonly<Record<string, string>> = { true: translate('admin.yes'), false: translate('admin.no') }
  const shared: Shared = {
    page,
    titleOf: (value) =>
      labelOf(column, value) ??
      (typeof value === 'boolean' ? `${column.title}: ${words[String(value)]}` : String(value)),
    moveOf: (row, value) => page.actions.find((one) => one.leadsTo === value && isActionAvailable(one, row)),
    choose(row, action) {
      if (action.leadsTo !== undefined) sought.current = String(valueAt(row, page.key))
      onChoose({ action, row })
    },
    isSought(key) {
      if (sought.current !== key) return false
      sought.current = undefined
      return true
    },
    onDrag: setDrag,
    onDrop({ row, over }, name) {
      setDrag(undefined)
      const value = values.find((one) => String(one) === over)
      if (value === undefined || valueAt(row, field) === value) return
      const action = shared.moveOf(row, value)
      if (action?.allowed) return shared.choose(row, action)
      const text = translate('work.cannot-move', { name, value: shared.titleOf(value) })
      toasts.show(`${text} ${(action && whyNot(action)) ?? ''}`.trim(), { isFailure: true })
    },
  }
  return (
    <div className={classes.board}>
      {values
        .map(String)
        .filter((value) => wanted.length === 0 || wanted.includes(value))
        .map((value) => (
          <BoardColumn
            key={value}
            {...{ shared, drag }}
            value={values.find((one) => String(one) === value)}
            rows={{ ...rows, query: { ...others, [field]: value } }}
          />
        ))}
    </div>
  )
}

interface BoardColumnProps extends Pick<BoardProps, 'rows'> {
  readonly shared: Shared
  readonly drag: Drag | undefined
  readonly value: unknown
}

/** Shows the rows with one value. It reads its first cards, and more of them when the user asks. */
function BoardColumn({ shared, rows: wanted, drag, value }: BoardColumnProps) {
  const { translate } = useLanguage()
  const [size, setSize] = useState(step)
  const [search] = useSearchParams()
  const { page } = shared
  const rows = useRows(page, wanted, { size })
  const { data } = rows
  const title = shared.titleOf(value)
  return (
    <section
      className={classes.column}
      data-value={String(value)}
      data-accepts={drag && shared.moveOf(drag.row, value)?.allowed === true}
      data-over={drag?.over === String(value) || undefined}
      aria-label={title}
      aria-busy={rows.isFetching}
    >
      <h2>
        {title} <span>{data && `${data.total ?? ''}${data.counted === 'capped' ? '+' : ''}`}</span>
      </h2>
      <LoadState of={rows} lines={3} height={56} />
      {data?.items.length === 0 && <p className={classes.none}>{translate('work.none')}</p>}
      <ul>
        {data?.items.map((row) => (
          <Card key={String(valueAt(row, page.key))} {...{ row, shared }} />
        ))}
      </ul>
      {typeof data?.next === 'string' &&
        (size < maxCards ? (
          <Button size="xs" variant="default" onClick={() => setSize(size + step)}>
            {translate('work.more', { value: title })}
          </Button>
        ) : (
          <Link href={`/${page.id}?${listOf(search, page.board?.column ?? '', String(value))}`}>
            {translate('work.all', { value: title })}
          </Link>
        ))}
    </section>
  )
}

/** Returns the query of the list with the filters of the board, and with one value of its column. */
function listOf(board: URLSearchParams, column: string, value: string): URLSearchParams {
  const list = new URLSearchParams(board)
  for (const name of [boardName, filterName, column]) list.delete(name)
  for (const one of withConditions(board.getAll(filterName), column, { in: [value] })) list.append(filterName, one)
  return list
}

function Card({ row, shared }: { readonly row: Row; readonly shared: Shared }) {
  const { translate } = useLanguage()
  const { page, titleOf, isSought } = shared
  const card = useRef<HTMLLIElement>(null)
  const start = useRef<{ readonly x: number; readonly y: number; isMoving: boolean }>(undefined)
  const key = String(valueAt(row, page.key))
  const head = namingColumn(page.columns) as Column
  const name = useRowName(page)(row)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a card is sought only when it appears
  useEffect(() => {
    if (isSought(key)) card.current?.querySelector('button')?.focus()
  }, [])
  const actions = page.actions.map((action) =>
    action.leadsTo === undefined
      ? action
      : { ...action, label: translate('work.move', { value: titleOf(action.leadsTo) }) },
  )
  const canMove = actions.some((action) => action.leadsTo !== undefined && isActionAvailable(action, row))
  const onPointerDown = ({
    target,
    currentTarget,
    pointerType,
    button,
    clientX: x,
    clientY: y,
    pointerId,
  }: PointerEvent) => {
    const isOn = (selector: string) => target instanceof Element && target.closest(selector) !== null
    // A finger scrolls the page, so it moves a card only by its handle.
    const canStart = pointerType === 'mouse' || isOn('[data-handle]')
    if (button !== 0 || !canMove || !canStart || isOn('a, button, [role=menu]')) return
    start.current = { x, y, isMoving: false }
    currentTarget.setPointerCapture(pointerId)
  }
  const dragOf = ({ clientX, clientY }: PointerEvent): Drag => ({
    row,
    over: document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>('[data-value]')?.dataset['value'],
  })
  const onPointerMove = (event: PointerEvent) => {
    const from = start.current
    if (from === undefined) return
    const [x, y] = [event.clientX - from.x, event.clientY - from.y]
    from.isMoving ||= Math.hypot(x, y) >= dragStart
    if (!from.isMoving || card.current === null) return
    card.current.style.translate = `${x}px ${y}px`
    shared.onDrag(dragOf(event))
  }
  const stop = (event: PointerEvent) => {
    const drag = dragOf(event)
    const isDropped = start.current?.isMoving === true && event.type === 'pointerup'
    start.current = undefined
    card.current?.style.removeProperty('translate')
    shared.onDrag(undefined)
    if (isDropped) shared.onDrop(drag, name)
  }
  return (
    <li
      ref={card}
      className={classes.card}
      {...{ onPointerDown, onPointerMove }}
      onPointerUp={stop}
      onPointerCancel={stop}
    >
      <div className={classes.cardHead}>
        {canMove && <IconGripVertical data-handle size={16} aria-hidden />}
        <Cell column={head} row={row} href={page.detail && `/${page.detail}/${encodeURIComponent(key)}`} />
        <RowActions {...{ actions, row, name }} onChoose={(action) => shared.choose(row, action)} />
      </div>
      {page.columns
        .filter(({ field }) => page.board?.cards?.includes(field))
        .map((column) => (
          <div key={column.field} className={classes.fact}>
            <span>{column.title}</span> <Cell column={column} row={row} />
          </div>
        ))}
    </li>
  )
}
