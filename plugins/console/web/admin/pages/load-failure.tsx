import { Button } from '@mantine/core'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { FailureNotice } from '../../app/failure-notice.tsx'
import { Notice } from '../../app/notice.tsx'
import { siteName } from '../../app/site-name.ts'
import { CallFailure } from '../api/call.ts'
import list from './list-view.module.css'

interface LoadFailureProps {
  readonly error: Error
  /** It stands in place of the whole page. */
  readonly isPage?: boolean
  onRetry(): void
}

/** Why something is not shown. */
export function LoadFailure({ error, isPage = false, onRetry }: LoadFailureProps) {
  const { say } = useSpeech()
  if (!(error instanceof CallFailure)) throw error
  const { kind, message, traceId } = error
  if (kind !== 'forbidden' && kind !== 'missing') return <FailureNotice {...{ message, traceId, onRetry }} />
  const title = say(`admin.${kind}`)
  if (isPage) return <NoPage title={title} message={message} />
  return (
    <Notice tone="warn" title={title}>
      <p>{message}</p>
    </Notice>
  )
}

/** There is no such page, or not for this person. */
function NoPage({ title, message }: { readonly title: string; readonly message: string }) {
  const { say } = useSpeech()
  useEffect(() => {
    document.title = `${title} · ${siteName}`
  }, [title])
  return (
    <>
      <h1 className={list.title}>{title}</h1>
      <p className={list.lead}>{message}</p>
      <Button component={Link} href="/" variant="default" mt="lg">
        {say('admin.to-overview')}
      </Button>
    </>
  )
}
