import { Button } from '@mantine/core'
import { IconExternalLink, IconRefresh } from '@tabler/icons-react'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { useLanguage } from '../app/app.tsx'
import { Frame } from '../app/frame.tsx'
import { Notice } from '../app/notice.tsx'
import { useLoaded } from '../app/use-loaded.ts'
import { forgetDraft } from './draft.ts'
import type { GateRejection } from './gate.tsx'
import { ApiFailure, type InstallApi } from './install-api.ts'
import type { Values } from './install-form.ts'
import type { Installation } from './installation.ts'
import { StepNavigation } from './step-navigation.tsx'
import type { ServerFieldError } from './steps/configuration-step.tsx'
import { EnvironmentStep } from './steps/environment-step.tsx'
import { useWizardStep } from './use-wizard-step.ts'
import type { InstallForm } from './wire.ts'

/** State of the access check of the page. */
type Entry =
  | { readonly kind: 'asking' }
  | { readonly kind: 'gate'; readonly refusal: GateRejection | undefined }
  | { readonly kind: 'closed'; readonly reason: ClosedReason; readonly hint?: string }
  | { readonly kind: 'open' }

const notAllowed = 'install.token.not-allowed'

const pageClock = {
  now: () => performance.now(),
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}

/** Time limit for the sign-in of the new administrator. After it, the last step links to the sign-in page. */
const signInDeadlineMs = 5_000

/**
 * Loads the code of all steps before the user types or changes anything. A restarting or locked product may no longer
 * serve the code.
 */
const loadLaterSteps = () => import('./later-steps.ts')

type ClosedReason = 'installed' | 'not-allowed' | 'unreachable'

const tones = { installed: 'good', 'not-allowed': 'warn', unreachable: 'bad' } as const

interface ClosedProps {
  readonly reason: ClosedReason
  /** Hint of the server for the user; may be empty. */
  readonly hint: string
  onRetry(): void
}

/** Shows why the installer cannot start, and what the user can do. */
function Closed({ reason, hint, onRetry }: ClosedProps) {
  const { translate } = useLanguage()
  const advice = reason === 'not-allowed' && hint === '' ? (['production', 'network', 'https', 'off'] as const) : []
  return (
    <Frame
      place={`closed-${reason}`}
      title={translate(`closed.${reason}.title`)}
      lead={translate(`closed.${reason}.lead`)}
      navigation={<StepNavigation current={undefined} />}
      actions={
        <>
          <Button variant="default" leftSection={<IconRefresh size={16} aria-hidden />} onClick={onRetry}>
            {translate('app.failure.retry')}
          </Button>
          {reason === 'installed' && (
            <Button component="a" href="../" rightSection={<IconExternalLink size={16} aria-hidden />}>
              {translate('closed.open-product')}
            </Button>
          )}
        </>
      }
    >
      <Notice
        tone={tones[reason]}
        title={hint === '' ? translate(`closed.${reason}.what`) : hint}
        items={advice.map((item) => translate(`closed.advice.${item}`))}
      />
    </Frame>
  )
}

/** The installer pages: the access check, then four steps. */
export function Wizard({ api }: { readonly api: InstallApi }) {
  const [entry, setEntry] = useState<Entry>({ kind: 'asking' })
  const [step, setStep] = useWizardStep()
  const [values, setValues] = useState<Values | undefined>(undefined)
  const [form, setForm] = useState<InstallForm>({})
  const [found, setFound] = useState<ServerFieldError | undefined>(undefined)
  const [isSignedIn, setSignedIn] = useState(false)
  const { data: later, error } = useLoaded(loadLaterSteps)
  const installation = useMemo(() => later && new later.Installation(api, pageClock), [later, api])

  const enter = useCallback(
    async (token: string) => {
      try {
        const { valid, reason, installed, hint = '' } = await api.verify(token)
        if (valid) api.rememberToken(token)
        if (valid) setEntry({ kind: 'open' })
        else if (reason === notAllowed)
          setEntry({ kind: 'closed', reason: installed ? 'installed' : 'not-allowed', hint })
        // In all other cases, another token may help.
        else setEntry({ kind: 'gate', refusal: token === '' ? undefined : { kind: 'wrong' } })
      } catch (error) {
        const isLimited = error instanceof ApiFailure && error.kind === 'limited'
        if (isLimited) setEntry({ kind: 'gate', refusal: { kind: 'limited', seconds: error.retryAfterSeconds } })
        else setEntry({ kind: 'closed', reason: 'unreachable' })
      }
    },
    [api],
  )
  useEffect(() => void enter(''), [enter])

  // The server no longer grants access: starts again and shows the reason.
  const onRejected = useCallback(() => void enter(''), [enter])

  if (entry.kind === 'asking') return null
  if (entry.kind === 'closed') return <Closed reason={entry.reason} hint={entry.hint ?? ''} onRetry={() => enter('')} />
  // A browser does not request a failed script again, so the page must reload.
  if (error !== undefined) return <Closed reason="unreachable" hint="" onRetry={() => window.location.reload()} />
  if (entry.kind === 'gate') return later && <later.Gate refusal={entry.refusal} onEnter={enter} />
  if (step === 'environment' || later === undefined || installation === undefined) {
    return (
      <EnvironmentStep
        api={api}
        isWaiting={later === undefined}
        onRejected={onRejected}
        onNext={() => setStep('configuration')}
      />
    )
  }

  switch (step) {
    case 'configuration':
      return (
        <later.ConfigurationStep
          api={api}
          values={values}
          found={found}
          onValues={setValues}
          onRejected={onRejected}
          onBack={() => setStep('environment')}
          onInstall={(ready) => {
            setForm(ready)
            setFound(undefined)
            setStep('process')
            void installation.run(ready)
          }}
        />
      )
    case 'process':
      return (
        <later.ProcessStep
          api={api}
          installation={installation}
          onBack={() => {
            setFound(foundBy(installation))
            setStep('configuration')
          }}
          onRetry={() => void installation.run(form)}
          onWait={() => void installation.wait(form)}
          onRejected={() => {
            setStep('configuration')
            onRejected()
          }}
          onFinished={async () => {
            const { username, password } = form['administrator'] ?? {}
            // The secrets in the form are no longer needed.
            setForm({})
            setValues(undefined)
            forgetDraft()
            if (username && password) {
              const late = pageClock.sleep(signInDeadlineMs).then(() => false)
              setSignedIn(await Promise.race([api.signIn({ username, password }), late]))
            }
            api.rememberToken('')
            setStep('done')
          }}
        />
      )
    case 'done':
      return <later.DoneStep api={api} installation={installation} isSignedIn={isSignedIn} />
  }
}

/** Returns the error of the failed installation that belongs to a form field. */
function foundBy(installation: Installation): ServerFieldError | undefined {
  const { failedField, records, message } = installation.current()
  return failedField === '' ? undefined : { field: failedField, message: records.at(-1)?.message ?? message }
}
