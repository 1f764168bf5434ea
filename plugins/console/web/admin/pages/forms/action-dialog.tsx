import { type Action, type Row, valueAt } from '../../api/page-types.ts'
import { plainText } from '../shown-value.ts'
import { WriteDialog } from './write-dialog.tsx'

interface ActionDialogProps {
  readonly action: Action
  readonly row: Row
  onClose(): void
}

/** `{name}` in a text stands for what the row shows under it, always as text. */
const filled = (text: string, row: Row) =>
  text.replace(/\{([\w.]+)\}/g, (_, name: string) => plainText(valueAt(row, name)))

const nothing = () => undefined

/** Something that is done with a row, or with what a page shows. */
export function ActionDialog({ action, row, onClose }: ActionDialogProps) {
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
      {action.confirm !== undefined && <p>{filled(action.confirm, row)}</p>}
    </WriteDialog>
  )
}
