import { Button, Skeleton } from '@mantine/core'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { siteName, useLanguage } from '../../app/app.tsx'
import { FailureNotice, Notice } from '../../app/notice.tsx'
import { CallFailure } from '../api/call.ts'
import list from './list-view.module.css'
import classes from './load-state.module.css'

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
  if (isPage) return <NoPage title={title} message={message} />
  return (
    <Notice tone="warn" title={title}>
      <p>{message}</p>
    </Notice>
  )
}

/** Shows that the page does not exist, or that this user may not see it. */
function NoPage({ title, message }: { readonly title: string; readonly message: string }) {
  const { translate } = useLanguage()
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  return (
    <>
      <h1 className={list.title}>{title}</h1>
      <p className={list.lead}>{message}</p>
      <Button component={Link} href="/" variant="default" mt="lg">
        {translate('admin.to-overview')}
      </Button>
    </>
  )
}
