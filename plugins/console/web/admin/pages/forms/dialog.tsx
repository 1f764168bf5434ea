import { Modal, type ModalProps } from '@mantine/core'
import { useLanguage } from '../../../app/app.tsx'

export interface DialogProps extends Pick<ModalProps, 'size' | 'centered' | 'closeOnEscape' | 'children'> {
  readonly title: string
  onClose(): void
}

/** An open dialog with a title and a button that closes it. */
export function Dialog(props: DialogProps) {
  const { translate } = useLanguage()
  return <Modal opened size="lg" closeButtonProps={{ 'aria-label': translate('admin.close') }} {...props} />
}
