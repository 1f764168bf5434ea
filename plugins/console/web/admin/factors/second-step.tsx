import { Anchor } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import { addTexts } from '../../text/texts.ts'
import { useApi } from '../api/context.tsx'
import { type Account, type Callable, ownAccount } from '../api/operations.ts'
import { useWrite } from '../api/use-write.ts'
import {
  type PendingSignIn,
  type SecondFactorWay,
  type SignInResult,
  useSignIn,
} from '../shell/session/session-state.ts'
import signIn from '../shell/session/sign-in.module.css'
import { CodeForm } from './code-form.tsx'
import classes from './factors.module.css'
import { PasskeyButton } from './passkey-button.tsx'
import { canUsePasskeys } from './passkeys.ts'
import { RecoveryCodes } from './recovery-codes.tsx'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }
import { TotpSetUp } from './totp-set-up.tsx'

addTexts({ en, 'zh-CN': zhCN })

interface SecondStepProps {
  readonly way: SecondFactorWay
  readonly pending: PendingSignIn
  onSignedIn(account: Account): void
  /** Returns to the first step. */
  onRestart(): void
}

/** The second step of a sign-in: a second factor, or its set-up if the user must have one. */
export default function SecondStep({ pending, onRestart, ...props }: SecondStepProps) {
  const { translate } = useLanguage()
  const api = useApi()
  const [codes, setCodes] = useState<readonly string[]>()
  const section = useRef<HTMLElement>(null)
  // The button of the first step is gone, so the focus moves to the first way of the second one.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each stage moves the focus once
  useEffect(() => section.current?.querySelector<HTMLElement>('input, button')?.focus(), [codes])
  const onResult = (result: SignInResult) => ('pending' in result ? onRestart() : props.onSignedIn(result.account))
  // The session is open, so the page can also be loaded again.
  const finish = useWrite((signal) => api.call<Account>(ownAccount, { signal }), {
    onSuccess: props.onSignedIn,
    onError: () => location.reload(),
  })
  const step = { way: props.way, pending }
  return (
    <section ref={section} className={classes.step} aria-label={translate('factors.step')}>
      {codes === undefined ? (
        <>
          {pending.isSetUp ? <SetUp {...step} onCodes={setCodes} /> : <Prove {...step} onResult={onResult} />}
          <Anchor component="button" type="button" ta="start" onClick={onRestart}>
            {translate('factors.restart')}
          </Anchor>
        </>
      ) : (
        <RecoveryCodes codes={codes} onDone={() => finish.mutate()} />
      )}
    </section>
  )
}

type StepProps = Pick<SecondStepProps, 'way' | 'pending'>

/** Asks for a second factor of the user. */
function Prove({
  way,
  pending: { token: pendingToken, methods },
  onResult,
}: StepProps & { onResult(result: SignInResult): void }) {
  const { translate } = useLanguage()
  const prove = useSignIn()
  const [hasPasskey, hasTotp, hasCodes] = ['passkey', 'totp', 'recovery-code'].map((name) => methods.includes(name))
  const [isRecovering, setRecovering] = useState(hasPasskey === false && hasTotp === false)
  const failed = translate('admin.sign-in.failed')
  if (isRecovering)
    return (
      <>
        <p>{translate('factors.recovery.lead')}</p>
        <CodeForm
          kind="recovery"
          label={translate('factors.recovery.code')}
          submit={translate('admin.sign-in.submit')}
          failed={failed}
          send={(code, signal) => prove(way.recoveryCode, { pendingToken, code }, signal)}
          onDone={onResult}
        />
        {(hasPasskey || hasTotp) && (
          <Anchor component="button" type="button" ta="start" onClick={() => setRecovering(false)}>
            {translate('factors.recovery.back')}
          </Anchor>
        )}
      </>
    )
  return (
    <>
      <p>{translate('factors.lead')}</p>
      {hasPasskey && canUsePasskeys && (
        <PasskeyButton
          isMain
          options={way.passkeyOptions}
          input={{ pendingToken }}
          labels={{ action: translate('factors.passkey.use'), failed }}
          send={(body, signal) => prove(way.passkey, body, signal)}
          onDone={onResult}
        />
      )}
      {hasPasskey && !canUsePasskeys && <p className={classes.quiet}>{translate('factors.passkey.not-here')}</p>}
      {hasPasskey && hasTotp && canUsePasskeys && <p className={signIn.or}>{translate('admin.sign-in.or')}</p>}
      {hasTotp && (
        <CodeForm
          kind="totp"
          label={translate('factors.totp.code')}
          submit={translate('admin.sign-in.submit')}
          failed={failed}
          send={(code, signal) => prove(way.totp, { pendingToken, code }, signal)}
          onDone={onResult}
        />
      )}
      {hasCodes && (
        <Anchor component="button" type="button" ta="start" onClick={() => setRecovering(true)}>
          {translate('factors.recovery.use')}
        </Anchor>
      )}
    </>
  )
}

interface SetUpResult {
  readonly recoveryCodes: readonly string[]
}

/**
 * Lets a user set up the second factor that a role requires. Nothing else is read before the recovery codes are shown,
 * because only this response contains them.
 */
function SetUp({
  way,
  pending: { token: pendingToken, methods },
  onCodes,
}: StepProps & { onCodes(codes: readonly string[]): void }) {
  const { translate } = useLanguage()
  const api = useApi()
  const send = (operation: Callable) => (body: object, signal: AbortSignal) =>
    api.call<SetUpResult>(operation, { body: { ...body, session: 'cookie' }, signal })
  const onDone = ({ recoveryCodes }: SetUpResult) => onCodes(recoveryCodes)
  const input = { pendingToken }
  const hasPasskey = methods.includes('passkey') && canUsePasskeys
  const hasTotp = methods.includes('totp')
  return (
    <>
      <Notice tone="info" title={translate('factors.set-up.title')}>
        {translate('factors.set-up.lead')}
      </Notice>
      {hasPasskey && (
        <>
          <p>{translate('factors.passkey.about')}</p>
          <PasskeyButton
            isMain
            isCreation
            options={way.setUpPasskeyOptions}
            input={input}
            labels={{ action: translate('factors.passkey.add'), failed: translate('factors.failed') }}
            send={send(way.setUpPasskey)}
            onDone={onDone}
          />
        </>
      )}
      {hasPasskey && hasTotp && <p className={signIn.or}>{translate('admin.sign-in.or')}</p>}
      {hasTotp && <TotpSetUp options={way.setUpTotpOptions} input={input} send={send(way.setUpTotp)} onDone={onDone} />}
      {!hasPasskey && !hasTotp && <p>{translate('factors.set-up.none')}</p>}
    </>
  )
}
