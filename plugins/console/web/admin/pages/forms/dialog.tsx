import { Button, Modal, type ModalProps } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import classes from './dialog.module.css'

export interface DialogProps extends Pick<ModalProps, 'size' | 'centered' | 'closeOnEscape' | 'children'> {
  readonly title: string
  onClose(): void
}

/** An open dialog with a title and a button that closes it. */
export function Dialog(props: DialogProps) {
  const { translate } = useLanguage()
  return <Modal opened size="lg" closeButtonProps={{ 'aria-label': translate('admin.close') }} {...props} />
}

interface DialogButtonsProps {
  /** Label of the button that closes the dialog. Default: *Cancel*. */
  readonly cancel?: string
  onCancel(): void
  /** The other buttons. Without them, the only button closes the dialog after its work is done. */
  readonly children?: ReactNode
}

/** The buttons at the end of a dialog. */
export function DialogButtons({ cancel, onCancel, children }: DialogButtonsProps) {
  const { translate } = useLanguage()
  return (
    <div className={classes.buttons}>
      <Button variant={children === undefined ? 'filled' : 'default'} onClick={onCancel}>
        {cancel ?? translate(children === undefined ? 'admin.close' : 'admin.cancel')}
      </Button>
      {children}
    </div>
  )
}
