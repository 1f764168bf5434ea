import { type KeyboardEvent, type PointerEvent, useRef } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { columnWidths } from '../shell/kept.ts'
import classes from './list-view.module.css'

const keySteps: Readonly<Record<string, number>> = { ArrowLeft: -20, ArrowRight: 20 }

const bounded = (width: number) => Math.round(Math.min(columnWidths.max, Math.max(columnWidths.min, width)))

interface ColumnEdgeProps {
  /** Id of the element with the title of the column. */
  readonly describedBy: string
  /** Chosen width in pixels; undefined if the content decides. */
  readonly width: number | undefined
  /** Called while the edge moves. */
  onMove(width: number): void
  /** Called with the chosen width, or with undefined if the content should decide again. */
  onChoose(width: number | undefined): void
}

/**
 * The right edge of a column. Dragging and the arrow keys change the width of the column. A double click and Backspace
 * reset it.
 */
export function ColumnEdge({ describedBy, width, onMove, onChoose }: ColumnEdgeProps) {
  const { translate } = useLanguage()
  const edge = useRef<HTMLDivElement>(null)
  const grip = useRef<{ readonly x: number; readonly width: number }>(undefined)
  const currentWidth = () => width ?? edge.current?.parentElement?.offsetWidth ?? columnWidths.min
  const widthAt = ({ clientX }: PointerEvent) =>
    grip.current === undefined ? undefined : bounded(grip.current.width + clientX - grip.current.x)
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    grip.current = { x: event.clientX, width: currentWidth() }
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent) => {
    const next = widthAt(event)
    if (next !== undefined) onMove(next)
  }
  const onPointerUp = (event: PointerEvent) => {
    const next = widthAt(event)
    const hasMoved = event.clientX !== grip.current?.x
    grip.current = undefined
    if (next !== undefined && hasMoved) onChoose(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = keySteps[event.key]
    if (step !== undefined) onChoose(bounded(currentWidth() + step))
    else if (event.key === 'Backspace') onChoose(undefined)
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: <hr> cannot be operated; this is the window splitter pattern of ARIA.
    <div
      ref={edge}
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={translate('admin.column-width')}
      aria-describedby={describedBy}
      aria-valuemin={columnWidths.min}
      aria-valuemax={columnWidths.max}
      aria-valuenow={width ?? columnWidths.min}
      aria-valuetext={width === undefined ? translate('admin.column-width-auto') : `${width} px`}
      className={classes.edge}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => {
        grip.current = undefined
      }}
      onDoubleClick={() => onChoose(undefined)}
      onKeyDown={onKeyDown}
    />
  )
}
