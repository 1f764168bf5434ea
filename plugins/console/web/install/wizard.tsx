import { useCallback, useEffect, useMemo, useState } from 'react'
import { Closed, type ClosedReason } from './closed.tsx'
import { ConfigurationStep } from './configuration-step.tsx'
import { DoneStep } from './done-step.tsx'
import { EnvironmentStep } from './environment-step.tsx'
import { Gate, type GateRefusal } from './gate.tsx'
import { ApiFailure, type InstallApi } from './install-api.ts'
import type { Values } from './install-form.ts'
import { Installation } from './installation.ts'
import { ProcessStep } from './process-step.tsx'
import type { WizardStep } from './step-navigation.tsx'
import type { InstallForm } from './wire.ts'

/** Whether the page may go on. */
type Entry =
  | { readonly kind: 'asking' }
  | { readonly kind: 'gate'; readonly refusal: GateRefusal | undefined }
  | { readonly kind: 'closed'; readonly reason: ClosedReason }
  | { readonly kind: 'open' }

const notAllowed = 'install.token.not-allowed'

const pageClock = {
  now: () => performance.now(),
  sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
}

/** The wizard: gate, then four steps. Everything that it knows lives here, in the memory of the page. */
export function Wizard({ api }: { readonly api: InstallApi }) {
  const [entry, setEntry] = useState<Entry>({ kind: 'asking' })
  const [step, setStep] = useState<WizardStep>('environment')
  const [values, setValues] = useState<Values | undefined>(undefined)
  const [form, setForm] = useState<InstallForm>({})
  const installation = useMemo(() => new Installation(api, pageClock), [api])

  const enter = useCallback(
    async (token: string) => {
      try {
        const { valid, reason, installed } = await api.verify(token)
        if (valid) api.rememberToken(token)
        if (valid) setEntry({ kind: 'open' })
        else if (reason === notAllowed) setEntry({ kind: 'closed', reason: installed ? 'installed' : 'not-allowed' })
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

  // The server does not let this page on any more: start over, and say why.
  const onRefused = useCallback(() => void enter(''), [enter])

  if (entry.kind === 'asking') return null
  if (entry.kind === 'closed') return <Closed reason={entry.reason} onRetry={() => enter('')} />
  if (entry.kind === 'gate') return <Gate refusal={entry.refusal} onEnter={enter} />

  switch (step) {
    case 'environment':
      return <EnvironmentStep api={api} onRefused={onRefused} onNext={() => setStep('configuration')} />
    case 'configuration':
      return (
        <ConfigurationStep
          api={api}
          values={values}
          onValues={setValues}
          onRefused={onRefused}
          onBack={() => setStep('environment')}
          onInstall={(ready) => {
            setForm(ready)
            setStep('process')
            void installation.run(ready)
          }}
        />
      )
    case 'process':
      return (
        <ProcessStep
          api={api}
          installation={installation}
          onBack={() => setStep('configuration')}
          onRetry={() => void installation.run(form)}
          onWait={() => void installation.wait(form)}
          onRefused={() => {
            setStep('configuration')
            onRefused()
          }}
          onFinished={() => {
            // Nothing needs the secrets any more.
            setForm({})
            setValues(undefined)
            api.rememberToken('')
            setStep('done')
          }}
        />
      )
    case 'done':
      return <DoneStep api={api} installation={installation} />
  }
}
