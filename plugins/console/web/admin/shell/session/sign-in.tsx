import { Anchor, Button, Modal, PasswordInput, TextInput } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { type FormEvent, lazy, type ReactNode, Suspense, useState } from 'react'
import { siteName, useLanguage } from '../../../app/app.tsx'
import { Brand, Switches } from '../../../app/frame.tsx'
import { Notice } from '../../../app/notice.tsx'
import { useApi } from '../../api/context.tsx'
import { type Account, login, type SignInProviders } from '../../api/operations.ts'
import { useOperation } from '../../api/use-operation.ts'
import { useWrite } from '../../api/use-write.ts'
import { PasskeyButton } from '../../factors/passkey-button.tsx'
import { canUsePasskeys } from '../../factors/passkeys.ts'
import { CallError } from '../../pages/call-error.tsx'
import { addressHere, leaveTo } from '../../providers/provider-flow.ts'
import type { WalletSignInProps } from '../../wallet/wallet-sign-in.tsx'
import { keepReturnAddress } from './return-address.ts'
import {
  type PasskeyWay,
  type PendingSignIn,
  type ProvidersWay,
  passkeyWay,
  providersWay,
  type RecoveryWay,
  recoveryAddress,
  recoveryWay,
  type SignInResult,
  secondFactorWay,
  signInWays,
  useSignIn,
  type WalletWay,
} from './session-state.ts'
import classes from './sign-in.module.css'

/** Only some users have a second factor, so its script is loaded when it is needed. */
const SecondStep = lazy(() => import('../../factors/second-step.tsx'))

interface SignInFormProps {
  /** User name of the previous session; empty if there was none. */
  readonly username?: string
  onSignedIn(account: Account): void
}

/** Shows all methods to sign in to the product, and then the second step if the user needs one. */
export function SignInForm({ username, onSignedIn }: SignInFormProps) {
  const { translate } = useLanguage()
  const [pending, setPending] = useState<PendingSignIn>()
  const [isPasswordChosen, setPasswordChosen] = useState(false)
  const { providers, error } = useProviders(providersWay)
  const onResult = (result: SignInResult) =>
    'pending' in result ? setPending(result.pending) : onSignedIn(result.account)
  if (pending !== undefined && secondFactorWay !== undefined)
    return (
      <Suspense fallback={null}>
        <SecondStep
          way={secondFactorWay}
          pending={pending}
          onSignedIn={onSignedIn}
          onRestart={() => setPending(undefined)}
        />
      </Suspense>
    )
  const hasPassword = isPasswordChosen || !providers.some(({ passwordHidden }) => passwordHidden)
  const passkey = canUsePasskeys ? passkeyWay : undefined
  const hasOthers = passkey !== undefined || signInWays.length > 0 || providers.length > 0
  return (
    <div className={classes.form}>
      {hasPassword && <PasswordForm username={username} onResult={onResult} />}
      {hasPassword && hasOthers && <p className={classes.or}>{translate('admin.sign-in.or')}</p>}
      {providersWay !== undefined && <ProviderButtons way={providersWay} providers={providers} />}
      {error !== null && <p role="status">{translate('admin.sign-in.providers-failed')}</p>}
      {passkey !== undefined && <PasskeyEntry way={passkey} onResult={onResult} />}
      {signInWays.map((way) => (
        <WalletEntry key={way.id} way={way} onResult={onResult} />
      ))}
      {!hasPassword && (
        <Anchor component="button" type="button" ta="start" onClick={() => setPasswordChosen(true)}>
          {translate('admin.sign-in.with-password')}
        </Anchor>
      )}
    </div>
  )
}

interface WayProps {
  onResult(result: SignInResult): void
}

/** Form for user name and password. */
function PasswordForm({ username: known = '', onResult }: WayProps & { readonly username: string | undefined }) {
  const { translate } = useLanguage()
  const prove = useSignIn()
  const [username, setUsername] = useState(known)
  const [password, setPassword] = useState('')
  const signIn = useWrite((signal) => prove(login, { username, password }, signal), {
    onSuccess: onResult,
    onSettled: () => setPassword(''),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (username !== '' && password !== '') signIn.mutate()
  }
  return (
    <form onSubmit={submit} className={classes.form}>
      <CallError title={translate('admin.sign-in.failed')} error={signIn.error} />
      <TextInput
        label={translate('admin.sign-in.username')}
        value={username}
        onChange={(event) => setUsername(event.currentTarget.value)}
        // With the second word, the browser suggests passkeys in this field.
        autoComplete={passkeyWay === undefined ? 'username' : 'username webauthn'}
        autoCapitalize="none"
        spellCheck={false}
        data-autofocus={known === '' || undefined}
        required
      />
      <PasswordInput
        label={translate('admin.sign-in.password')}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        visibilityToggleButtonProps={{
          'aria-label': translate('field.reveal', { label: translate('admin.sign-in.password') }),
          tabIndex: 0,
        }}
        data-autofocus={known !== '' || undefined}
        required
      />
      <Button type="submit" loading={signIn.isPending} fullWidth>
        {translate('admin.sign-in.submit')}
      </Button>
    </form>
  )
}

const noProviders: SignInProviders['providers'] = []

function useProviders(way: ProvidersWay | undefined) {
  const { data, error } = useOperation<SignInProviders>(way?.list, { enabled: way !== undefined })
  return { providers: data?.providers ?? noProviders, error }
}

/** Buttons that leave this page for the server of a provider. */
function ProviderButtons({ way, providers }: SignInProviders & { readonly way: ProvidersWay }) {
  const { translate } = useLanguage()
  const api = useApi()
  const start = useWrite(
    (signal, provider: string) =>
      api.call<{ readonly url: string }>(way.start, {
        params: { provider },
        body: { returnTo: addressHere(), session: 'cookie' },
        signal,
      }),
    { onSuccess: ({ url }, provider) => leaveTo(url, { provider, purpose: 'sign-in', returnTo: addressHere() }) },
  )
  return (
    <>
      <CallError title={translate('admin.sign-in.failed')} error={start.error} />
      {providers.map(({ id, title }) => (
        <Button
          key={id}
          variant="default"
          fullWidth
          loading={start.isPending && start.variables === id}
          onClick={() => start.mutate(id)}
        >
          {translate('admin.sign-in.provider', { title })}
        </Button>
      ))}
    </>
  )
}

function PasskeyEntry({ way, onResult }: WayProps & { readonly way: PasskeyWay }) {
  const { translate } = useLanguage()
  const signIn = useSignIn()
  return (
    <PasskeyButton
      options={way.options}
      labels={{ action: translate('admin.sign-in.passkey'), failed: translate('admin.sign-in.failed') }}
      hasSuggestions
      send={(body, signal) => signIn(way.login, body, signal)}
      onDone={onResult}
    />
  )
}

function WalletEntry({ way, onResult }: WayProps & { readonly way: WalletWay }) {
  const { translate } = useLanguage()
  const signIn = useSignIn()
  return (
    <WalletButton
      challenge={way.challenge}
      labels={{ action: translate('admin.sign-in.wallet'), failed: translate('admin.sign-in.failed') }}
      send={(proof, signal) => signIn(way.login, proof, signal)}
      onDone={onResult}
    />
  )
}

/** Button that asks for the signature of a wallet. Its script is loaded when the user presses the button. */
export function WalletButton<Result>(props: WalletSignInProps<Result>) {
  const { labels } = props
  const { translate } = useLanguage()
  const script = useWrite(() => import('../../wallet/wallet-sign-in.tsx'))
  const WalletSignIn = script.data?.default
  return (
    <>
      {WalletSignIn !== undefined ? (
        <WalletSignIn {...props} />
      ) : (
        <>
          {script.isError && (
            <Notice tone="bad" title={labels.failed}>
              {translate('app.failure.unreachable')}
            </Notice>
          )}
          <Button
            variant="default"
            fullWidth
            leftSection={<IconWallet size={18} aria-hidden />}
            loading={script.isPending}
            onClick={() => script.mutate()}
          >
            {labels.action}
          </Button>
        </>
      )}
    </>
  )
}

/** The page for users who are not signed in. */
export function SignInPage({ onSignedIn }: Pick<SignInFormProps, 'onSignedIn'>) {
  const { translate } = useLanguage()
  return (
    <SignInCard title={translate('admin.sign-in.title')}>
      <SignInForm onSignedIn={onSignedIn} />
      {recoveryWay !== undefined && <RecoveryLink way={recoveryWay} />}
    </SignInCard>
  )
}

/**
 * Dialog for a session that has ended. It is above the form that was open then. That form already has a dialog title, so
 * this one has no header.
 */
export function EndedSession(props: SignInFormProps) {
  const { translate } = useLanguage()
  return (
    <Modal.Root opened onClose={() => {}} zIndex={1000} centered>
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body className={classes.ended}>
          <Modal.Title>{translate('admin.sign-in.ended')}</Modal.Title>
          <SignInForm {...props} />
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  )
}

/** Link for users who forgot their password. It is hidden while the product cannot send mails. */
function RecoveryLink({ way }: { readonly way: RecoveryWay }) {
  const { translate } = useLanguage()
  const { data } = useOperation<{ readonly available: boolean }>(way.status)
  if (data?.available !== true) return null
  return (
    <Anchor className={classes.forgot} href={recoveryAddress} onClick={keepReturnAddress}>
      {translate('admin.sign-in.forgot')}
    </Anchor>
  )
}

/** Layout of the pages for users who are not signed in. */
export function SignInCard({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  document.title = `${title} · ${siteName}`
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <Brand />
        <Switches />
      </header>
      <main className={classes.card}>
        <h1 className={classes.title}>{title}</h1>
        {children}
      </main>
    </div>
  )
}
