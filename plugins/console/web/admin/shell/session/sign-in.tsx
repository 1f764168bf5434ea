import { Anchor, Button, PasswordInput, TextInput } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useState } from 'react'
import { siteName, useLanguage } from '../../../app/app.tsx'
import { Brand, Switches } from '../../../app/frame.tsx'
import { Notice } from '../../../app/notice.tsx'
import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { type Account, login } from '../../api/operations.ts'
import { useWrite } from '../../api/use-write.ts'
import type { WalletSignInProps } from '../../wallet/wallet-sign-in.tsx'
import {
  type RecoveryWay,
  recoveryAddress,
  recoveryWay,
  signInWays,
  useSignIn,
  type WalletWay,
} from './session-state.ts'
import classes from './sign-in.module.css'

interface SignInFormProps {
  /** User name of the previous session; empty if there was none. */
  readonly username?: string
  onSignedIn(account: Account): void
}

/** Shows all methods to sign in to the product. */
export const SignInForm = (props: SignInFormProps) => (
  <div className={classes.form}>
    <PasswordForm {...props} />
    {signInWays.map((way) => (
      <WalletEntry key={way.id} way={way} onSignedIn={props.onSignedIn} />
    ))}
  </div>
)

/** Form for user name and password. */
function PasswordForm({ username: known = '', onSignedIn }: SignInFormProps) {
  const { translate } = useLanguage()
  const prove = useSignIn()
  const [username, setUsername] = useState(known)
  const [password, setPassword] = useState('')
  const signIn = useWrite((signal) => prove(login, { username, password }, signal), {
    onSuccess: onSignedIn,
    onSettled: () => setPassword(''),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (username !== '' && password !== '') signIn.mutate()
  }
  const { error } = signIn
  return (
    <form onSubmit={submit} className={classes.form}>
      {error !== null && (
        <Notice tone="bad" title={translate('admin.sign-in.failed')}>
          {error instanceof CallFailure && error.kind !== 'away' ? error.message : translate('app.failure.unreachable')}
        </Notice>
      )}
      <TextInput
        label={translate('admin.sign-in.username')}
        value={username}
        onChange={(event) => setUsername(event.currentTarget.value)}
        autoComplete="username"
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

function WalletEntry({ way, onSignedIn }: { readonly way: WalletWay } & Pick<SignInFormProps, 'onSignedIn'>) {
  const { translate } = useLanguage()
  const signIn = useSignIn()
  return (
    <>
      <p className={classes.or}>{translate('admin.sign-in.or')}</p>
      <WalletButton
        challenge={way.challenge}
        labels={{ action: translate('admin.sign-in.wallet'), failed: translate('admin.sign-in.failed') }}
        send={(proof, signal) => signIn(way.login, proof, signal)}
        onDone={onSignedIn}
      />
    </>
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

/** Link for users who forgot their password. It is hidden while the product cannot send mails. */
function RecoveryLink({ way }: { readonly way: RecoveryWay }) {
  const { translate } = useLanguage()
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['recovery-status'],
    queryFn: ({ signal }) => api.call<{ readonly available: boolean }>(way.status, { signal }),
  })
  if (data?.available !== true) return null
  return (
    <Anchor className={classes.forgot} href={recoveryAddress}>
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
