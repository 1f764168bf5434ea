import { Button, Skeleton } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useLanguage } from '../../app/app.tsx'
import { FailureNotice, Notice } from '../../app/notice.tsx'
import { CallFailure } from '../api/call.ts'
import classes from './load-state.module.css'
import { PageHead } from './page-head.tsx'

interface WaitingProps {
  readonly lines: number
  /** Height of one line in pixels. */
  readonly height: number
}

/** Shows placeholder lines while data is loading. */
export const Waiting = ({ lines, height }: WaitingProps) => (
  <div className={classes.waiting} aria-hidden aria-busy>
    {Array.from({ length: lines }, (_, line) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the placeholder lines have no other difference
      <Skeleton key={line} height={height} />
    ))}
  </div>
)

interface LoadFailureProps {
  readonly error: Error
  /** True if the message replaces the whole page. */
  readonly isPage?: boolean
  onRetry(): void
}

/** Shows the reason why data could not be loaded. */
export function LoadFailure({ error, isPage = false, onRetry }: LoadFailureProps) {
  const { translate } = useLanguage()
  if (!(error instanceof CallFailure)) throw error
  const { kind, message, traceId } = error
  if (kind !== 'forbidden' && kind !== 'missing') return <FailureNotice {...{ message, traceId, onRetry }} />
  const title = translate(`admin.${kind}`)
  if (isPage)
    return (
      <>
        <PageHead title={title} lead={message} />
        <Button component={Link} href="/" variant="default">
          {translate('admin.to-overview')}
        </Button>
      </>
    )
  return (
    <Notice tone="warn" title={title}>
      <p>{message}</p>
    </Notice>
  )
}

interface LoadStateProps extends Partial<WaitingProps>, Pick<LoadFailureProps, 'isPage'> {
  readonly of: Pick<UseQueryResult<unknown>, 'data' | 'error' | 'refetch'>
}

/** Shows why data could not be read, or placeholder lines until it is read. */
export function LoadState({ of, lines = 0, height = 28, isPage = false }: LoadStateProps) {
  const { data, error, refetch } = of
  if (error !== null) return <LoadFailure {...{ error, isPage }} onRetry={() => void refetch()} />
  return data === undefined && lines > 0 ? <Waiting lines={lines} height={height} /> : null
}

/** Shows that no row matches the filters, and the button that removes them. */
export function NothingFound({ onClear }: { onClear(): void }) {
  const { translate } = useLanguage()
  return (
    <div className={classes.empty}>
      <p>{translate('admin.empty.filtered')}</p>
      <Button variant="default" size="sm" onClick={onClear}>
        {translate('admin.empty.clear')}
      </Button>
    </div>
  )
}
