import { Button } from '@mantine/core'
import { useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import dialog from '../pages/forms/dialog.module.css'
import { Dialog, DialogButtons } from '../pages/forms/dialog.tsx'
import { LabelPicker } from '../pages/forms/label-picker.tsx'

interface AssignmentProps {
  readonly title: string
  readonly assignee: number | null
  onChosen(userId: number): void
  onClose(): void
}

/** Dialog that assigns an entry to an operator. It is the default export, because `lazy` loads it. */
export default function Assignment({ title, assignee, onChosen, onClose }: AssignmentProps) {
  const { translate } = useLanguage()
  const [chosen, setChosen] = useState(assignee === null ? '' : String(assignee))
  return (
    <Dialog title={title} onClose={onClose} size="md" centered>
      <div className={dialog.form}>
        <LabelPicker
          kind={{ labels: 'iam.user' }}
          title={translate('admin.attention.assigned')}
          label={translate('admin.attention.assigned')}
          value={chosen}
          onChange={(id) => setChosen(id ?? '')}
        />
        <DialogButtons onCancel={onClose}>
          <Button
            disabled={chosen === ''}
            onClick={() => {
              onChosen(Number(chosen))
              onClose()
            }}
          >
            {translate('admin.save')}
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  )
}
