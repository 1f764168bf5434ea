import { ActionIcon } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { type KeyboardEvent, lazy, type ReactNode, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import type { Form, ListPage } from '../../api/page-types.ts'
import type { Row } from '../../api/row-values.ts'
import type { ChosenAction } from '../use-actions.tsx'
import classes from './work.module.css'

const CellEditor = lazy(() => import('./cell-editor.tsx'))

interface EditableCellProps {
  readonly page: ListPage
  readonly field: string
  readonly row: Row
  /** Name of the row, for screen readers. */
  readonly name: string
  onChoose(chosen: ChosenAction): void
  readonly children: ReactNode
}

/** Adds a button to a cell that opens the form for its value. */
export function EditableCell({ page, field: fieldName, row, name, onChoose, children }: EditableCellProps) {
  const { translate } = useLanguage()
  const button = useRef<HTMLButtonElement>(null)
  const [isOpen, setOpen] = useState(false)
  const { edit } = page
  const field = edit?.allowed ? edit.fields.find((one) => one.name === fieldName) : undefined
  if (edit === undefined || field === undefined) return children
  // Tab reaches the first button of a row. The arrow keys move to the others, so that a row has one stop.
  const onKey = ({ key }: KeyboardEvent) => {
    const buttons = [...(button.current?.closest('tr')?.querySelectorAll<HTMLElement>('[data-edits]') ?? [])]
    const step = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0
    if (step !== 0) buttons[buttons.indexOf(button.current as HTMLElement) + step]?.focus()
  }
  const close = () => {
    setOpen(false)
    button.current?.focus()
  }
  return (
    <span className={classes.editable}>
      {children}
      <ActionIcon
        ref={button}
        data-edits
        className={classes.edit}
        size="sm"
        variant="subtle"
        color="gray"
        tabIndex={page.columns.find(isEditable(edit)) === page.columns.find((one) => one.field === fieldName) ? 0 : -1}
        aria-haspopup="dialog"
        aria-label={translate('admin.edit-cell', { title: field.title, name })}
        onKeyDown={onKey}
        onClick={() => setOpen(true)}
      >
        <IconPencil size={14} aria-hidden />
      </ActionIcon>
      {isOpen && (
        <Boundary>
          <CellEditor {...{ edit, field, row, name, onChoose }} onClose={close} />
        </Boundary>
      )}
    </span>
  )
}

const isEditable =
  ({ fields }: Form) =>
  ({ field }: { readonly field: string }) =>
    fields.some(({ name }) => name === field)
