import { Anchor, Button, PasswordInput, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { FailureNotice } from '../../app/notice.tsx'
import { addTexts } from '../../text/texts.ts'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import type { Callable } from '../api/operations.ts'
import { useWrite } from '../api/use-write.ts'
import { forgetReturnAddress, returnAddress } from '../shell/session/return-address.ts'
import { type RecoveryWay, recoveryAddress } from '../shell/session/session-state.ts'
import classes from '../shell/session/sign-in.module.css'
import { SignInCard } from '../shell/session/sign-in.tsx'
import { link } from './mail-link.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

/** The page for users who cannot sign in. It requests a link, or uses the link with which it was opened. */
export default function RecoveryPage({ way }: { readonly way: RecoveryWay }) {
  if (link.token === '') return <RequestForm way={way} />
  return link.purpose.startsWith('email-') ? <EmailForm way={way} /> : <PasswordForm way={way} />
}

/** Returns a write that calls an operation of the recovery. */
function useStep(operation: Callable) {
  const api = useApi()
  return useWrite((signal, body: object) => api.call<unknown>(operation, { body, signal }))
}

function RequestForm({ way }: { readonly way: RecoveryWay }) {
  const { translate } = useLanguage()
  const [identifier, setIdentifier] = useState('')
  const step = useStep(way.request)
  if (step.isSuccess)
    return <Done title={translate('recovery.request.sent')}>{translate('recovery.request.sent-lead')}</Done>
  return (
    <StepForm
      title={translate('recovery.request.title')}
      lead={translate('recovery.request.lead')}
      submit={translate('recovery.request.submit')}
      step={step}
      onSubmit={() => identifier !== '' && step.mutate({ identifier })}
    >
      <TextInput
        label={translate('admin.sign-in.username')}
        value={identifier}
        onChange={(event) => setIdentifier(event.currentTarget.value)}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={254}
        required
      />
    </StepForm>
  )
}

function PasswordForm({ way }: { readonly way: RecoveryWay }) {
  const { translate } = useLanguage()
  const [password, setPassword] = useState('')
  const step = useStep(way.complete)
  const label = translate('recovery.password.label')
  if (step.isSuccess)
    return <Done title={translate('recovery.password.done')}>{translate('recovery.password.done-lead')}</Done>
  return (
    <StepForm
      title={translate(link.purpose === 'invitation' ? 'recovery.password.invitation' : 'recovery.password.reset')}
      submit={translate('recovery.password.submit')}
      step={step}
      onSubmit={() => password !== '' && step.mutate({ token: link.token, password })}
    >
      <PasswordInput
        label={label}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': translate('field.reveal', { label }), tabIndex: 0 }}
        required
      />
    </StepForm>
  )
}

/** Asks before it uses the link, because programs that scan mails open links and may run scripts. */
function EmailForm({ way }: { readonly way: RecoveryWay }) {
  const { translate } = useLanguage()
  const step = useStep(way.email)
  const isUndo = link.purpose === 'email-undo'
  if (step.isSuccess) {
    return isUndo ? (
      <Done title={translate('recovery.email.undo-done')}>
        <p>{translate('recovery.email.undo-done-lead')}</p>
        <Anchor href={recoveryAddress}>{translate('recovery.password.reset')}</Anchor>
      </Done>
    ) : (
      <Done title={translate('recovery.email.change-done')} />
    )
  }
  return (
    <StepForm
      title={translate(isUndo ? 'recovery.email.undo' : 'recovery.email.change')}
      lead={translate(isUndo ? 'recovery.email.undo-lead' : 'recovery.email.change-lead')}
      submit={translate(isUndo ? 'recovery.email.undo-submit' : 'recovery.email.change-submit')}
      step={step}
      onSubmit={() => step.mutate({ token: link.token })}
    />
  )
}

interface StepFormProps {
  readonly title: string
  readonly lead?: string
  readonly submit: string
  readonly step: ReturnType<typeof useStep>
  onSubmit(): void
  readonly children?: ReactNode
}

/** A form with one button, its error, and the way back to the sign-in. */
function StepForm({ title, lead, submit, step, onSubmit, children }: StepFormProps) {
  const { translate } = useLanguage()
  const { error } = step
  const isInvalid = error instanceof CallFailure && error.reason === 'recovery.token-invalid'
  // A link of another kind must be sent again by the person who sent the first one.
  const canRepeat = isInvalid && link.purpose === 'reset'
  const send = (event: FormEvent) => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <SignInCard title={title}>
      <form onSubmit={send} className={classes.form}>
        {lead !== undefined && <p>{lead}</p>}
        {error !== null && (
          <FailureNotice
            title={translate('recovery.failed')}
            message={error instanceof CallFailure ? error.message : ''}
            traceId=""
          >
            {canRepeat && <Anchor href={recoveryAddress}>{translate('recovery.again')}</Anchor>}
          </FailureNotice>
        )}
        {children}
        <Button type="submit" loading={step.isPending} fullWidth>
          {submit}
        </Button>
        <BackLink />
      </form>
    </SignInCard>
  )
}

const Done = ({ title, children }: { readonly title: string; readonly children?: ReactNode }) => (
  <SignInCard title={title}>
    <div className={classes.form} role="status">
      {children}
      {/* A recovery that sent a mail continues with its link. */}
      <BackLink isEnd={link.token !== ''} />
    </div>
  </SignInCard>
)

function BackLink({ isEnd = false }: { readonly isEnd?: boolean }) {
  const { translate } = useLanguage()
  const [address] = useState(returnAddress)
  useEffect(() => {
    if (isEnd) forgetReturnAddress()
  }, [isEnd])
  return <Anchor href={address}>{translate('recovery.back')}</Anchor>
}
