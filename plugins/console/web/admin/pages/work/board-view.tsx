import { ActionIcon, Button, Menu } from '@mantine/core'
import { IconDots, IconGripVertical } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type PointerEvent, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { useApi } from '../../api/context.tsx'
import { usePolling } from '../../api/live.tsx'
import type { Action, Column, ListPage } from '../../api/page-types.ts'
import { labelOf, type Row, type Rows, rowsOf, valueAt } from '../../api/row-values.ts'
import { useWhyNot } from '../../api/why-not.ts'
import { useSite } from '../../shell/site-context.ts'
import { toasts } from '../../shell/toasts.ts'
import { Cell } from '../cell.tsx'
import { conditionsOn, valuesOf } from '../conditions.ts'
import { LoadFailure, Waiting } from '../load-state.tsx'
import { isActionAvailable, isFile } from '../row-actions.tsx'
import { columnText, useFormats } from '../shown-value.ts'
import type { ChosenAction } from '../use-actions.tsx'
import classes from './work.module.css'
import './texts.ts'

type Value = string | number | boolean

/** Number of cards by which a column grows, and largest page of a list. */
const step = 20
const maxCards = 200
const liveMs = 10_000
/** Distance in pixels after which a pressed pointer moves the card. */
const dragStart = 6

interface BoardViewProps {
  readonly page: ListPage
  readonly params: Readonly<Record<string, string>>
  /** Filters, search and order of the list, without its position. */
  readonly query: Readonly<Record<string, string | number | readonly string[]>>
  /** Time range and zone of the list. */
  readonly time: readonly unknown[]
  /** Returns the parameters that depend on the time and the user. */
  limits(): Readonly<Record<string, string | readonly string[]>>
  onChoose(chosen: ChosenAction): void
}

/** A card that the pointer moves. */
interface Drag {
  readonly row: Row
  /** Value of the column below the pointer. */
  readonly over: string | undefined
}

/**
 * Shows the rows of a list as cards in columns. A card can be moved only where an action of its row leads. The card stays in
 * its column until the server has moved it, so it is never in a wrong one. It is the default export, because `lazy` loads it.
 */
export default function BoardView({ page, params, query, time, limits, onChoose }: BoardViewProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const [drag, setDrag] = useState<Drag>()
  /** Key of the card that gets the focus when it appears in its new column. */
  const sought = useRef<string>(undefined)
  const { column: field, values } = page.board as NonNullable<ListPage['board']>
  const column = page.columns.find((one) => one.field === field) as Column
  const { [field]: equal = [], ...others } = query
  const conditions = conditionsOn([query['filter'] ?? []].flat().map(String), field)
  const wanted = [...valuesOf(conditions, 'in'), ...[equal].flat().map(String)]
  const shown = values.filter((value) => wanted.length === 0 || wanted.includes(String(value)))
  const words: Readonly<Record<string, string>> = { true: translate('admin.yes'), false: translate('admin.no') }
  const titleOf = (value: Value) => {
    const word = labelOf(column, value) ?? words[String(value)] ?? String(value)
    return typeof value === 'boolean' ? `${column.title}: ${word}` : word
  }
  const moveOf = (row: Row, value: Value) =>
    page.actions.find((action) => action.leadsTo === value && isActionAvailable(action, row))
  const move = (row: Row, action: Action) => {
    sought.current = String(valueAt(row, page.key))
    onChoose({ action, row })
  }
  const drop = (row: Row, over: string | undefined, name: string) => {
    setDrag(undefined)
    const value = values.find((one) => String(one) === over)
    if (value === undefined || valueAt(row, field) === value) return
    const action = moveOf(row, value)
    if (action?.allowed) return move(row, action)
    const text = translate('work.cannot-move', { name, value: titleOf(value) })
    toasts.show(`${text} ${(action && whyNot(action)) ?? ''}`.trim(), { isFailure: true })
  }
  return (
    <div className={classes.board}>
      {shown.map((value) => (
        <BoardColumn
          key={String(value)}
          {...{ page, params, time, limits, value, titleOf, moveOf, sought, onChoose }}
          query={{ ...others, [field]: String(value) }}
          accepts={drag === undefined ? undefined : moveOf(drag.row, value)?.allowed === true}
          isOver={drag?.over === String(value)}
          onMove={move}
          onDrag={setDrag}
          onDrop={drop}
        />
      ))}
    </div>
  )
}

interface CardsProps {
  readonly page: ListPage
  readonly sought: { current: string | undefined }
  titleOf(value: Value): string
  moveOf(row: Row, value: Value): Action | undefined
  onMove(row: Row, action: Action): void
  onChoose(chosen: ChosenAction): void
  onDrag(drag: Drag | undefined): void
  onDrop(row: Row, over: string | undefined, name: string): void
}

interface BoardColumnProps extends CardsProps {
  readonly params: BoardViewProps['params']
  readonly query: BoardViewProps['query']
  readonly time: BoardViewProps['time']
  readonly limits: BoardViewProps['limits']
  readonly value: Value
  /** While a card is moved: true if it can be dropped here. */
  readonly accepts: boolean | undefined
  readonly isOver: boolean
}

/** Shows the rows with one value. It reads its first cards, and more of them when the user asks. */
function BoardColumn(props: BoardColumnProps) {
  const { page, params, query, time, limits, value, titleOf, accepts, isOver, ...cards } = props
  const { translate } = useLanguage()
  const api = useApi()
  const [size, setSize] = useState(step)
  const asked = { ...query, ...(page.isPaged && { size }), ...(page.canCount && { count: 'capped' }) }
  const rows = useQuery({
    queryKey: [page.operation, params, asked, ...time],
    queryFn: async ({ signal }) => {
      const sent = { ...asked, ...limits() }
      return rowsOf(await api.call<Rows | readonly Row[]>(page, { params, query: sent, signal }))
    },
    placeholderData: (last) => last,
    refetchInterval: usePolling()(page.live, liveMs),
  })
  const { data } = rows
  const title = titleOf(value)
  return (
    <section
      className={classes.column}
      data-value={String(value)}
      data-accepts={accepts}
      data-over={isOver || undefined}
      aria-label={title}
      aria-busy={rows.isFetching}
    >
      <h2>
        {title}{' '}
        <span>{data?.total === null ? '' : `${data?.total ?? ''}${data?.counted === 'capped' ? '+' : ''}`}</span>
      </h2>
      {rows.error !== null && <LoadFailure error={rows.error} onRetry={() => void rows.refetch()} />}
      {data === undefined && rows.error === null && <Waiting lines={3} height={56} />}
      {data?.items.length === 0 && <p className={classes.none}>{translate('work.none')}</p>}
      <ul>
        {data?.items.map((row) => (
          <Card key={String(valueAt(row, page.key))} row={row} page={page} titleOf={titleOf} {...cards} />
        ))}
      </ul>
      {typeof data?.next === 'string' &&
        (size < maxCards ? (
          <Button size="xs" variant="default" onClick={() => setSize(size + step)}>
            {translate('work.more', { value: title })}
          </Button>
        ) : (
          <Link href={`/${page.id}?${page.board?.column}=${encodeURIComponent(String(value))}`}>
            {translate('work.all', { value: title })}
          </Link>
        ))}
    </section>
  )
}

interface CardProps extends CardsProps {
  readonly row: Row
}

function Card({ row, page, sought, titleOf, moveOf, onMove, onChoose, onDrag, onDrop }: CardProps) {
  const { translate } = useLanguage()
  const whyNot = useWhyNot()
  const menu = useRef<HTMLButtonElement>(null)
  const card = useRef<HTMLLIElement>(null)
  const start = useRef<{ readonly x: number; readonly y: number; isMoving: boolean }>(undefined)
  const key = String(valueAt(row, page.key))
  const surroundings = { formats: useFormats(), units: useSite().units }
  const head = page.columns.find(({ link }) => link) ?? (page.columns[0] as Column)
  const name = columnText(head, head.field, row, surroundings) || key
  const { values, cards = [] } = page.board as NonNullable<ListPage['board']>
  useEffect(() => {
    if (sought.current !== key) return
    sought.current = undefined
    menu.current?.focus()
  }, [key, sought])
  const moves = values.flatMap((value) => {
    const action = moveOf(row, value)
    return action === undefined ? [] : [{ action, label: translate('work.move', { value: titleOf(value) }) }]
  })
  const others = page.actions.filter(
    (action) => action.leadsTo === undefined && !isFile(action) && isActionAvailable(action, row),
  )
  const items = [
    ...moves.map(({ action, label }) => ({ action, label, run: () => onMove(row, action) })),
    ...others.map((action) => ({ action, label: action.label, run: () => onChoose({ action, row }) })),
  ]
  const below = ({ clientX, clientY }: PointerEvent) =>
    document.elementFromPoint(clientX, clientY)?.closest<HTMLElement>('[data-value]')?.dataset['value']
  const stop = () => {
    start.current = undefined
    card.current?.style.removeProperty('translate')
    onDrag(undefined)
  }
  const onPointerDown = (event: PointerEvent<HTMLLIElement>) => {
    const { target, pointerType, button, clientX: x, clientY: y, pointerId } = event
    // A finger scrolls the page, so it moves a card only by its handle.
    const isHandle = target instanceof Element && target.closest('[data-handle]') !== null
    const isControl = target instanceof Element && target.closest('a, button, [role=menu]') !== null
    if (button !== 0 || moves.length === 0 || isControl || (pointerType !== 'mouse' && !isHandle)) return
    start.current = { x, y, isMoving: false }
    event.currentTarget.setPointerCapture(pointerId)
  }
  const onPointerMove = (event: PointerEvent<HTMLLIElement>) => {
    const from = start.current
    if (from === undefined) return
    const [x, y] = [event.clientX - from.x, event.clientY - from.y]
    if (!from.isMoving && Math.hypot(x, y) < dragStart) return
    from.isMoving = true
    if (card.current !== null) card.current.style.translate = `${x}px ${y}px`
    onDrag({ row, over: below(event) })
  }
  const onPointerUp = (event: PointerEvent<HTMLLIElement>) => {
    const isMoving = start.current?.isMoving === true
    const over = below(event)
    stop()
    if (isMoving) onDrop(row, over, name)
  }
  return (
    <li ref={card} className={classes.card} {...{ onPointerDown, onPointerMove, onPointerUp }} onPointerCancel={stop}>
      <div className={classes.cardHead}>
        {moves.length > 0 && <IconGripVertical data-handle size={16} aria-hidden />}
        <Cell column={head} row={row} href={page.detail && `/${page.detail}/${encodeURIComponent(key)}`} />
        {items.length > 0 && (
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon ref={menu} variant="subtle" color="gray" aria-label={translate('work.moves-of', { name })}>
                <IconDots size={18} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {items.map(({ action, label, run }) => (
                <Menu.Item key={label} disabled={!action.allowed} title={whyNot(action)} onClick={run}>
                  {label}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
      </div>
      {page.columns
        .filter(({ field }) => cards.includes(field))
        .map((column) => (
          <div key={column.field} className={classes.fact}>
            <span>{column.title}</span> <Cell column={column} row={row} />
          </div>
        ))}
    </li>
  )
}
