import { ActionIcon } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type KeyboardEvent, lazy, type ReactNode, Suspense, useRef, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { Boundary } from '../../../app/boundary.tsx'
import { useApi } from '../../api/context.tsx'
import type { Form, ListPage } from '../../api/page-types.ts'
import { type Row, valuesFromRow } from '../../api/row-values.ts'
import { useWrite } from '../../api/use-write.ts'
import { toasts } from '../../shell/toasts.ts'
import { nested } from '../forms/form-state.ts'
import classes from './work.module.css'

const CellEditor = lazy(() => import('./cell-editor.tsx'))

/** A value that a cell had before, with the version that the row has now. */
export interface CellChange {
  readonly row: Row
  readonly field: string
  readonly value: unknown
  readonly version: unknown
}

/** Returns the function that restores the value of a cell. */
export function useCellUndo({ edit }: ListPage): (change: CellChange) => void {
  const { translate } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const { mutate } = useWrite(
    (signal, { row, field, value, version }: CellChange, keys) => {
      const { body, params, version: versioned } = edit as Form
      const sent = { ...valuesFromRow(body, row), [field]: value, ...(versioned && { [versioned]: version }) }
      return api.call(edit as Form, { params: valuesFromRow(params, row), body: nested(sent), keys, signal })
    },
    {
      onSuccess: () => toasts.show(translate('admin.undone')),
      onError: ({ message }) => toasts.show(message || translate('app.failure.unreachable'), { isFailure: true }),
      onSettled: () => void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'page' }),
      isParallel: true,
    },
  )
  return mutate
}

interface EditableCellProps {
  readonly page: ListPage
  readonly field: string
  readonly row: Row
  /** Name of the row, for screen readers. */
  readonly name: string
  onUndo(change: CellChange): void
  readonly children: ReactNode
}

/** Adds a button to a cell that opens the form for its value. */
export function EditableCell({ page, field: fieldName, row, name, onUndo, children }: EditableCellProps) {
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
          <Suspense fallback={null}>
            <CellEditor {...{ edit, field, row, name, onUndo }} onClose={close} />
          </Suspense>
        </Boundary>
      )}
    </span>
  )
}

const isEditable =
  ({ fields }: Form) =>
  ({ field }: { readonly field: string }) =>
    fields.some(({ name }) => name === field)
