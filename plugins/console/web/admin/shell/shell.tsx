import { Modal } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from 'react'
import { Route, Router, Switch } from 'wouter'
import { useSpeech } from '../../app/app.tsx'
import { FailureNotice } from '../../app/failure-notice.tsx'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { Live } from '../api/live.tsx'
import type { Navigation as NavigationView } from '../api/page-types.ts'
import { OwnPage } from '../own/own-page.tsx'
import { ownPages } from '../own/own-pages.ts'
import { Boundary } from './boundary.tsx'
import { Home } from './home.tsx'
import { Navigation } from './navigation.tsx'
import { Palette } from './palette.tsx'
import { type Account, navigationPages, ownAccount } from './session-calls.ts'
import type { SessionState } from './session-state.ts'
import classes from './shell.module.css'
import { SignInForm, SignInPage } from './sign-in.tsx'
import { SiteContext } from './site-context.ts'

const DeclaredPage = lazy(() => import('../pages/declared-page.tsx'))

/** Path below which the back office lies. */
const base = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** Who is there, or the page to sign in; then the frame with the page of the address. */
export function Shell({ session }: { readonly session: SessionState }) {
  const phase = useSyncExternalStore(session.subscribe, session.current)
  const { say, language } = useSpeech()
  const api = useApi()
  const client = useQueryClient()
  const [username, setUsername] = useState('')
  const account = useQuery({
    queryKey: ['account'],
    queryFn: ({ signal }) => api.call<Account>(ownAccount, { signal }),
    enabled: phase !== 'out' && phase !== 'ended',
  })
  const navigation = useQuery({
    queryKey: ['navigation', language],
    queryFn: ({ signal }) => api.call<NavigationView>(navigationPages, { signal }),
    enabled: phase === 'in',
    placeholderData: (last) => last,
  })
  const known = account.data
  useEffect(() => {
    if (known === undefined) return
    setUsername(known.username)
    session.begin(false)
  }, [known, session])
  const signedIn = (name: string) => {
    // Another person sees nothing of what the last one saw.
    if (username !== '' && name !== username) return location.reload()
    session.begin(true)
    void client.invalidateQueries()
  }
  if (phase === 'out') return <SignInPage onSignedIn={signedIn} />
  const failed = account.error ?? navigation.error
  if (
    failed !== null &&
    navigation.data === undefined &&
    !(failed instanceof CallFailure && failed.kind === 'signed-out')
  ) {
    return <Away failure={failed} onRetry={() => void client.invalidateQueries()} />
  }
  if (navigation.data === undefined) return <div className={classes.blank} aria-busy="true" />
  return (
    <SiteContext value={navigation.data}>
      <Live isOn={phase === 'in'}>
        <Router base={base}>
          <div className={classes.shell}>
            <Navigation navigation={navigation.data} username={username} session={session} />
            <main className={classes.main} id="content">
              <Boundary>
                <Suspense fallback={<div className={classes.blank} aria-busy="true" />}>
                  <Switch>
                    <Route path="/" component={Home} />
                    <Route path="/:page/:id?">
                      {({ page, id }) =>
                        Object.hasOwn(ownPages, decodeURIComponent(page)) ? (
                          <OwnPage key={page} id={decodeURIComponent(page)} />
                        ) : (
                          <DeclaredPage key={page} page={decodeURIComponent(page)} id={id && decodeURIComponent(id)} />
                        )
                      }
                    </Route>
                  </Switch>
                </Suspense>
              </Boundary>
            </main>
          </div>
          <Palette navigation={navigation.data} />
          <Modal
            opened={phase === 'ended'}
            onClose={() => {}}
            withCloseButton={false}
            // Above the form in whose middle the session ended.
            zIndex={1000}
            title={say('admin.sign-in.ended')}
            centered
          >
            <SignInForm username={username} onSignedIn={signedIn} />
          </Modal>
        </Router>
      </Live>
    </SiteContext>
  )
}

/** The server is away: tried again by itself. */
function Away({ failure, onRetry }: { readonly failure: Error; onRetry(): void }) {
  useEffect(() => {
    const timer = setInterval(onRetry, 5_000)
    return () => clearInterval(timer)
  }, [onRetry])
  const { message, traceId } = failure instanceof CallFailure ? failure : { message: '', traceId: '' }
  return (
    <main className={classes.away}>
      <FailureNotice message={message} traceId={traceId} onRetry={onRetry} />
    </main>
  )
}
