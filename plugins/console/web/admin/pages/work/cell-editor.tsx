import { Popover } from '@mantine/core'
import { useLanguage } from '../../../app/app.tsx'
import type { Field, Form, Sources } from '../../api/page-types.ts'
import { type Row, valueAt } from '../../api/row-values.ts'
import { currentOf } from '../forms/action-dialogs.tsx'
import type { DialogProps } from '../forms/dialog.tsx'
import { initialFieldContent, sentOf } from '../forms/field-values.ts'
import { WriteDialog } from '../forms/write-dialog.tsx'
import type { ChosenAction } from '../use-actions.tsx'
import classes from './work.module.css'

interface CellEditorProps {
  readonly edit: Form
  readonly field: Field
  readonly row: Row
  /** Name of the row. */
  readonly name: string
  /** Starts the action that restores the value. */
  onChoose(chosen: ChosenAction): void
  onClose(): void
}

/** The form of one cell, with all that a form has. It is the default export, because `lazy` loads it. */
export default function CellEditor({ edit, field, row, name, onChoose, onClose }: CellEditorProps) {
  const { translate } = useLanguage()
  // The other fields are not shown, and a cell is too small for a reason.
  const form: Form = { ...edit, fields: [field], sections: [], takesReason: false }
  /** Returns the button that restores the value; `undefined` if the form cannot send it. */
  const undoOf = (answer: unknown) => {
    const stored = currentOf(row, field.name)
    const value = edit.amounts?.[field.name] === undefined ? sentOf(initialFieldContent(stored, field), field) : stored
    const version = edit.version === undefined ? undefined : valueAt(answer, edit.version)
    if (value === undefined || (edit.version !== undefined && version === undefined)) return undefined
    const body = { ...edit.body, [field.name]: { value }, ...(edit.version && { [edit.version]: { value: version } }) }
    // With `undo`, the action runs without a dialog. It names no operation, because an undo has no undo.
    const action = {
      ...edit,
      params: edit.params ?? {},
      body: body as Sources,
      confirm: translate('admin.undone'),
      undo: '',
    }
    const label = translate('admin.undo')
    return { label, run: () => onChoose({ row, action: { ...action, label } }) }
  }
  return (
    <WriteDialog
      write={form}
      row={row}
      title={`${field.title}: ${name}`}
      submit={translate('admin.save')}
      done={translate('admin.saved-cell', { title: field.title, name })}
      fields={[field]}
      initial={(one) => currentOf(row, one)}
      onlyChanged
      Frame={CellFrame}
      undoOf={undoOf}
      onClose={onClose}
    />
  )
}

/** Shows the form next to its cell. */
function CellFrame({ title, onClose, children }: DialogProps) {
  return (
    <Popover
      opened
      position="bottom-start"
      width="min(24rem, calc(100vw - 2rem))"
      shadow="md"
      trapFocus
      withRoles={false}
      closeOnClickOutside={false}
      onDismiss={onClose}
    >
      <Popover.Target>
        <span className={classes.anchor} />
      </Popover.Target>
      <Popover.Dropdown role="dialog" aria-label={title} className={classes.popover}>
        {children}
      </Popover.Dropdown>
    </Popover>
  )
}
