import { ActionIcon } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { toasts } from '../shell/toasts.ts'
import classes from './copied.module.css'

interface CopiedProps {
  /** Text that the button copies. */
  readonly text: string
  /** Name of the text for the button. Default: the text. */
  readonly title?: string
  readonly children: ReactNode
}

/** Shows a text that users copy, such as an order number or a key, with a button that copies it. */
export function Copied({ text, title: name = text, children }: CopiedProps) {
  const { translate } = useLanguage()
  const clipboard = useClipboard()
  const Icon = clipboard.copied ? IconCheck : IconCopy
  const title = translate('admin.copy', { text: name })
  return (
    <span className={classes.copied} data-copied={text}>
      {children}
      <ActionIcon
        variant="subtle"
        color="gray"
        size="xs"
        aria-label={title}
        title={title}
        className={classes.button}
        onClick={() => {
          clipboard.copy(text)
          toasts.show(translate('admin.once.copied'))
        }}
      >
        <Icon size={14} aria-hidden />
      </ActionIcon>
    </span>
  )
}
