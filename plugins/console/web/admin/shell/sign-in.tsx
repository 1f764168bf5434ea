import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useSpeech } from '../../app/app.tsx'
import { Brand } from '../../app/brand.tsx'
import { Notice } from '../../app/notice.tsx'
import { siteName } from '../../app/site-name.ts'
import { Switches } from '../../app/switches.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { login } from './session-calls.ts'
import classes from './sign-in.module.css'

interface SignInFormProps {
  /** Of who was here before; empty for nobody. */
  readonly username?: string
  onSignedIn(username: string): void
}

/** Name and password; on success the browser holds a cookie that no script can read. */
export function SignInForm({ username: known = '', onSignedIn }: SignInFormProps) {
  const { say } = useSpeech()
  const api = useApi()
  const [username, setUsername] = useState(known)
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () => api.call(login, { body: { username, password, session: 'cookie' } }),
    onSuccess: () => onSignedIn(username),
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
        <Notice tone="bad" title={say('admin.sign-in.failed')}>
          {error instanceof CallFailure && error.kind !== 'away' ? error.message : say('app.failure.unreachable')}
        </Notice>
      )}
      <TextInput
        label={say('admin.sign-in.username')}
        value={username}
        onChange={(event) => setUsername(event.currentTarget.value)}
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        data-autofocus={known === '' || undefined}
        required
      />
      <PasswordInput
        label={say('admin.sign-in.password')}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        autoComplete="current-password"
        visibilityToggleButtonProps={{
          'aria-label': say('field.reveal', { label: say('admin.sign-in.password') }),
          tabIndex: 0,
        }}
        data-autofocus={known !== '' || undefined}
        required
      />
      <Button type="submit" loading={signIn.isPending} fullWidth>
        {say('admin.sign-in.submit')}
      </Button>
    </form>
  )
}

/** The page of somebody who is not signed in. */
export function SignInPage({ onSignedIn }: Pick<SignInFormProps, 'onSignedIn'>) {
  const { say } = useSpeech()
  document.title = `${say('admin.sign-in.title')} · ${siteName}`
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <Brand />
        <Switches />
      </header>
      <main className={classes.card}>
        <h1 className={classes.title}>{say('admin.sign-in.title')}</h1>
        <SignInForm onSignedIn={onSignedIn} />
      </main>
    </div>
  )
}
