import { Button } from '@mantine/core'
import { IconFingerprint } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import type { Translate } from '../../text/texts.ts'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { useWrite } from '../api/use-write.ts'
import classes from './factors.module.css'
import { askPasskey, isCancelled, type PasskeyUse, suggestPasskeys } from './passkeys.ts'

const noInput = {}

interface PasskeyButtonProps<Result> extends Omit<PasskeyUse<Result>, 'input'> {
  readonly input?: object
  /** Label of the button, and title of a failure. */
  readonly labels: { readonly action: string; readonly failed: string }
  /** True if the button creates a passkey. Default: it signs with one. */
  readonly isCreation?: boolean
  /** True if the browser suggests passkeys in the field for the user name. */
  readonly hasSuggestions?: boolean
  readonly isMain?: boolean
  onDone(result: Result): void
}

/** Button that shows the prompt of the browser for a passkey. */
export function PasskeyButton<Result>({
  options,
  input = noInput,
  labels,
  isCreation = false,
  hasSuggestions = false,
  isMain = false,
  send,
  onDone,
}: PasskeyButtonProps<Result>) {
  const { translate } = useLanguage()
  const api = useApi()
  const use = { options, input, send }
  const [rejection, setRejection] = useState<Error | null>(null)
  const step = useWrite((signal) => askPasskey(api, isCreation ? 'create' : 'sign', use, signal), {
    onSuccess: onDone,
  })
  const latest = useRef({ use, onDone })
  latest.current = { use, onDone }
  const isSuggesting = hasSuggestions && !step.isPending
  useEffect(() => {
    if (!isSuggesting) return
    const leaving = new AbortController()
    void suggestPasskeys(api, latest.current.use, setRejection, leaving.signal).then((result) => {
      if (result !== undefined && !leaving.signal.aborted) latest.current.onDone(result)
    })
    return () => leaving.abort()
  }, [api, isSuggesting])
  const error = step.error ?? rejection
  const button = useRef<HTMLButtonElement>(null)
  // A button that is disabled while the prompt is open loses the focus.
  useEffect(() => {
    if (error !== null && document.activeElement === document.body) button.current?.focus()
  }, [error])
  return (
    <>
      {isCancelled(error) ? (
        <p role="status" className={classes.quiet}>
          {translate('admin.passkey.cancelled')}
        </p>
      ) : (
        error !== null && (
          <Notice tone="bad" title={labels.failed}>
            {passkeyFailure(error, translate)}
          </Notice>
        )
      )}
      <Button
        ref={button}
        variant={isMain ? 'filled' : 'default'}
        fullWidth
        leftSection={<IconFingerprint size={18} aria-hidden />}
        loading={step.isPending}
        onClick={() => {
          setRejection(null)
          step.mutate()
        }}
      >
        {labels.action}
      </Button>
    </>
  )
}

function passkeyFailure(error: Error, translate: Translate): string {
  if (error.name === 'InvalidStateError') return translate('admin.passkey.exists')
  if (!(error instanceof CallFailure)) return translate('admin.passkey.broken')
  return error.kind === 'away' ? translate('app.failure.unreachable') : error.message
}
