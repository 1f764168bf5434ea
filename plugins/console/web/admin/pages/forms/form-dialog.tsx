import { useSpeech } from '../../../app/app.tsx'
import { type Form, type Row, valueAt } from '../../api/page-types.ts'
import { WriteDialog } from './write-dialog.tsx'

interface FormDialogProps {
  readonly form: Form
  /** What is changed; empty for something new. */
  readonly row: Row
  onClose(): void
}

/** Members of a thing by the names under which a form sends them: `roleIds` are the `roles` of a user. */
function currentOf(row: Row, name: string): unknown {
  return valueAt(row, name) ?? (name.endsWith('Ids') ? valueAt(row, `${name.slice(0, -3)}s`) : undefined)
}

/** Creates something, or changes what a page shows. */
export function FormDialog({ form, row, onClose }: FormDialogProps) {
  const { say } = useSpeech()
  return (
    <WriteDialog
      write={form}
      row={row}
      title={form.title}
      submit={form.submit ?? say('admin.save')}
      fields={form.fields}
      initial={(name) => currentOf(row, name)}
      onlyChanged={!form.whole && Object.keys(row).length > 0 && form.method !== 'POST'}
      keeps
      onClose={onClose}
    >
      {form.lead !== undefined && <p>{form.lead}</p>}
    </WriteDialog>
  )
}
