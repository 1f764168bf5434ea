import type { Field, Operation } from '../../api/page-types.ts'
import type { Row } from '../../api/row-values.ts'
import { WriteDialog } from '../../pages/forms/write-dialog.tsx'

/** A change that the user confirms in a dialog. */
export interface Change {
  readonly operation: Operation | undefined
  readonly title: string
  readonly lead?: string
  /** The changed object. Its `id` is the parameter of the operation. */
  readonly row?: Row
  readonly fields?: readonly Field[]
  readonly isDangerous?: boolean
  onDone?(answer: unknown): void
}

const noRow: Row = {}

interface ChangeDialogProps {
  readonly change: Change
  onClose(): void
}

export function ChangeDialog({ change, onClose }: ChangeDialogProps) {
  const { operation, title, lead, row = noRow, fields = [], isDangerous = false, onDone } = change
  if (operation === undefined) return null
  return (
    <WriteDialog
      write={{ ...operation, params: { id: { field: 'id' } }, ...(isDangerous ? { tone: 'danger' as const } : {}) }}
      row={row}
      title={title}
      submit={title}
      fields={fields}
      initial={(name) => row[name]}
      {...(onDone && { onDone })}
      onClose={onClose}
    >
      {lead !== undefined && <p>{lead}</p>}
    </WriteDialog>
  )
}
