import { Button, Modal } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import classes from './dialog.module.css'
import { DialogButtons } from './dialog.tsx'

/** Returns the function that asks before input is discarded, and the dialog with the question. */
export function useDiscardQuestion(
  question: string,
  discard: () => void,
): { ask(): void; readonly isAsked: boolean; readonly dialog: ReactNode } {
  const { translate } = useLanguage()
  const [isAsked, setAsked] = useState(false)
  const keep = () => setAsked(false)
  const onDiscard = () => {
    keep()
    discard()
  }
  return {
    ask: () => setAsked(true),
    isAsked,
    dialog: isAsked && (
      // Without the header of a dialog, because the dialog behind it has one.
      <Modal.Root opened onClose={keep} centered>
        <Modal.Overlay />
        <Modal.Content>
          <Modal.Body className={classes.form}>
            <Modal.Title>{question}</Modal.Title>
            <DialogButtons cancel={translate('admin.keep-editing')} onCancel={keep}>
              <Button color="red" onClick={onDiscard}>
                {translate('admin.discard-input')}
              </Button>
            </DialogButtons>
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
    ),
  }
}
