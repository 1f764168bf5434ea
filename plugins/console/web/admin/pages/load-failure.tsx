import { useSpeech } from '../../app/app.tsx'
import { FailureNotice } from '../../app/failure-notice.tsx'
import { Notice } from '../../app/notice.tsx'
import { CallFailure } from '../api/call.ts'

/** Why something is not shown. */
export function LoadFailure({ error, onRetry }: { readonly error: Error; onRetry(): void }) {
  const { say } = useSpeech()
  if (!(error instanceof CallFailure)) throw error
  if (error.kind === 'forbidden' || error.kind === 'missing') {
    return (
      <Notice tone="warn" title={say(`admin.${error.kind}`)}>
        <p>{error.message}</p>
      </Notice>
    )
  }
  return <FailureNotice message={error.message} traceId={error.traceId} onRetry={onRetry} />
}
