import { type Action, type Column, type Row, valueAt } from '../../api/page-types.ts'
import { useSite } from '../../shell/site-context.ts'
import { columnText, plainText, useFormats } from '../shown-value.ts'
import { WriteDialog } from './write-dialog.tsx'

interface ActionDialogProps {
  readonly action: Action
  readonly row: Row
  /** Of the page, which show the members that the text of the action contains. */
  readonly columns: readonly Column[]
  onClose(): void
}

const nothing = () => undefined

/** Something that is done with a row, or with what a page shows. */
export function ActionDialog({ action, row, columns, onClose }: ActionDialogProps) {
  const surroundings = { formats: useFormats(), units: useSite().units }
  /** Replaces `{name}` by the member of the row, written as on the page. */
  const filled = (text: string) =>
    text.replace(/\{([\w.]+)\}/g, (_, name: string) =>
      columnText(
        columns.find(({ field }) => field === name),
        name,
        row,
        surroundings,
      ),
    )
  return (
    <WriteDialog
      write={action}
      row={row}
      title={action.label}
      submit={action.label}
      fields={action.ask ?? []}
      initial={nothing}
      onlyChanged={false}
      keeps={false}
      wanted={action.type === undefined ? undefined : plainText(valueAt(row, action.type))}
      onClose={onClose}
    >
      {action.confirm !== undefined && <p>{filled(action.confirm)}</p>}
    </WriteDialog>
  )
}
