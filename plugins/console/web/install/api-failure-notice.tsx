import { useEffect } from 'react'
import { FailureNotice } from '../app/notice.tsx'
import { ApiFailure } from './install-api.ts'

interface ApiFailureNoticeProps {
  readonly error: unknown
  onRetry(): void
  /** Called when the server no longer grants access to the installer. */
  onRejected(): void
}

/** Explains a failed call to the user. */
export function ApiFailureNotice({ error, onRetry, onRejected }: ApiFailureNoticeProps) {
  const failure = error instanceof ApiFailure ? error : new ApiFailure('unreachable', '')
  const isRejected = failure.kind === 'refused'
  useEffect(() => {
    if (isRejected) onRejected()
  }, [isRejected, onRejected])
  if (isRejected) return null
  return <FailureNotice message={failure.message} traceId={failure.traceId} onRetry={onRetry} />
}
