import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import { CallFailure } from '../api/call.ts'

interface CallErrorProps {
  readonly title: string
  readonly error: Error | null
}

/** Shows why a call failed, without a way to repeat it, because the form around it has its own. */
export function CallError({ title, error }: CallErrorProps) {
  const { translate } = useLanguage()
  if (error === null) return null
  const isAnswered = error instanceof CallFailure && error.kind !== 'away' && error.message !== ''
  return (
    <Notice tone="bad" title={title}>
      {isAnswered ? error.message : translate('app.failure.unreachable')}
    </Notice>
  )
}
