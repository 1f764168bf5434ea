import { Alert, Button } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconInfoCircle, IconRefresh } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useLanguage } from './app.tsx'
import classes from './notice.module.css'

interface FailureNoticeProps {
  /** Message of the server; empty if the server did not respond. */
  readonly message: string
  /** Id of the request in the server log; may be empty. */
  readonly traceId: string
  /** Details, shown after the message. */
  readonly children?: ReactNode
  /** Without it there is no retry button, because the surrounding form has its own. */
  onRetry?(): void
}

/** Shows a failed request: the error, its id in the log, and a retry button. */
export function FailureNotice({ message, traceId, children, onRetry }: FailureNoticeProps) {
  const { translate } = useLanguage()
  return (
    <Notice tone="bad" title={translate('app.failure.title')}>
      <p>{message === '' ? translate('app.failure.unreachable') : message}</p>
      {children}
      {traceId !== '' && <p className={classes.trace}>{translate('app.failure.trace', { traceId })}</p>}
      {onRetry !== undefined && (
        <Button
          className={classes.retry}
          variant="default"
          size="sm"
          leftSection={<IconRefresh size={16} aria-hidden />}
          onClick={onRetry}
        >
          {translate('app.failure.retry')}
        </Button>
      )}
    </Notice>
  )
}

const icons = { good: IconCircleCheck, info: IconInfoCircle, warn: IconAlertTriangle, bad: IconCircleX } as const

interface NoticeProps {
  readonly tone: keyof typeof icons
  readonly title: string
  readonly children?: ReactNode
}

/** Shows a notice. Screen readers announce errors. */
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
