import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useSpeech } from './app.tsx'
import classes from './failure-notice.module.css'
import { Notice } from './notice.tsx'

interface FailureNoticeProps {
  /** What the server says; empty when it does not answer. */
  readonly message: string
  /** Names the request in the log of the server; may be empty. */
  readonly traceId: string
  onRetry(): void
}

/** A request that failed: what happened, how to find it in the log, and another try. */
export function FailureNotice({ message, traceId, onRetry }: FailureNoticeProps) {
  const { say } = useSpeech()
  return (
    <Notice tone="bad" title={say('app.failure.title')}>
      <p>{message === '' ? say('app.failure.unreachable') : message}</p>
      {traceId !== '' && <p className={classes.trace}>{say('app.failure.trace', { traceId })}</p>}
      <Button
        className={classes.retry}
        variant="default"
        size="sm"
        leftSection={<IconRefresh size={16} aria-hidden />}
        onClick={onRetry}
      >
        {say('app.failure.retry')}
      </Button>
    </Notice>
  )
}
