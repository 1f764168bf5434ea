import { Alert, Button } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconInfoCircle, IconRefresh } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useLanguage } from './app.tsx'
import classes from './notice.module.css'

interface FailureNoticeProps {
  /** Default: that the request failed. */
  readonly title?: string
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
export function FailureNotice({ title, message, traceId, children, onRetry }: FailureNoticeProps) {
  const { translate } = useLanguage()
  return (
    <Notice tone="bad" title={title ?? translate('app.failure.title')}>
      <p>{message === '' ? translate('app.failure.unreachable') : message}</p>
      {children}
      {traceId !== '' && <p className={classes.trace}>{translate('app.failure.trace', { traceId })}</p>}
      {onRetry !== undefined && <RetryButton label={translate('app.failure.retry')} onClick={onRetry} />}
    </Notice>
  )
}

/** The button of a notice that loads a part of the page again. */
export const RetryButton = ({ label, onClick }: { readonly label: string; onClick(): void }) => (
  <Button
    className={classes.retry}
    variant="default"
    size="sm"
    leftSection={<IconRefresh size={16} aria-hidden />}
    onClick={onClick}
  >
    {label}
  </Button>
)

const icons = { good: IconCircleCheck, info: IconInfoCircle, warn: IconAlertTriangle, bad: IconCircleX } as const

interface NoticeProps {
  readonly tone: keyof typeof icons
  readonly title: string
  /** Facts, each on a line. */
  readonly items?: readonly string[]
  readonly children?: ReactNode
}

/** Shows a notice. Screen readers announce errors. */
export function Notice({ tone, title, items = [], children }: NoticeProps) {
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
      {items.length > 0 && (
        <ul>
          {items.map((item) => (
            <li key={item}>{item}</li>
          ))}
        </ul>
      )}
      {children}
    </Alert>
  )
}
