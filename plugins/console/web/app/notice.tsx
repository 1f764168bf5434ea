import { Alert } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconInfoCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import classes from './notice.module.css'

const icons = { good: IconCircleCheck, info: IconInfoCircle, warn: IconAlertTriangle, bad: IconCircleX } as const

interface NoticeProps {
  readonly tone: keyof typeof icons
  readonly title: string
  readonly children?: ReactNode
}

/** Something that the reader must know. What is bad is announced. */
export function Notice({ tone, title, children }: NoticeProps) {
  const Icon = icons[tone]
  return (
    <Alert
      className={classes.notice}
      data-tone={tone}
      classNames={{ icon: classes.icon, title: classes.title, message: classes.message }}
      role={tone === 'bad' ? 'alert' : 'note'}
      icon={<Icon size={22} stroke={1.75} aria-hidden />}
      title={title}
    >
      {children}
    </Alert>
  )
}
