import { Modal } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, memo, type ReactNode, useDeferredValue, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Redirect, Route, Router, Switch, useLocation } from 'wouter'
import { menusId, siteName, useLanguage } from '../../app/app.tsx'
import { Boundary } from '../../app/boundary.tsx'
import { FailureNotice } from '../../app/notice.tsx'
import { CallFailure, type Connection } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { Live } from '../api/live.tsx'
import { type Account, navigationPages, ownAccount } from '../api/operations.ts'
import type { Navigation as NavigationView } from '../api/page-types.ts'
import { OwnPage, ownPages } from '../own/own-pages.tsx'
import { ConnectionLine } from './connection-line.tsx'
import { setDraftOwner } from './drafts.ts'
import { contentId, focusMessage, focusRow, focusSearch, isLayerOpen, useFocusKeeper } from './focus.ts'
import { isTyping } from './is-typing.tsx'
import { UserPreferencesContext, usePreferencesOfUser, useUserPreferences } from './kept-context.ts'
import { Navigation } from './navigation.tsx'
import { PlaceTabs, placeOf, successorOf } from './places.tsx'
import type { SessionState } from './session/session-state.ts'
import classes from './shell.module.css'
import { pressed } from './shortcuts.ts'
import { base, SiteContext } from './site-context.ts'
import { ToastRegion } from './toast-region.tsx'
import { zoneOf } from './zone.ts'

const ShortcutList = lazy(() => import('./shortcut-list.tsx'))
const Palette = lazy(() => import('../palette/palette.tsx'))
/** Signed-in users rarely need these scripts, so they are not part of the first view. */
const SignInPage = lazy(async () => ({ default: (await import('./session/sign-in.tsx')).SignInPage }))
const EndedSession = lazy(async () => ({ default: (await import('./session/sign-in.tsx')).EndedSession }))
const ProofDialog = lazy(() => import('./session/proof-dialog.tsx'))
const DeclaredPage = lazy(() => import('../pages/declared-page.tsx'))
const Home = lazy(async () => ({ default: (await import('./home.tsx')).Home }))

interface ShellProps {
  readonly session: SessionState
  readonly connection: Connection
}

/** Shows the sign-in page, or for a signed-in user the frame with the page at the current address. */
export function Shell({ session, connection }: ShellProps) {
  const phase = useSyncExternalStore(session.subscribe, session.current)
  const { language } = useLanguage()
  const api = useApi()
  const client = useQueryClient()
  const account = useQuery({
    queryKey: ['account'],
    queryFn: ({ signal }) => api.call<Account>(ownAccount, { signal }),
    enabled: phase !== 'out' && phase !== 'ended',
    // The user may have signed in as another user in another tab, so the account is requested again.
    refetchOnWindowFocus: 'always',
  })
  const navigation = useQuery({
    queryKey: ['navigation', language],
    queryFn: ({ signal }) => api.call<NavigationView>(navigationPages, { signal }),
    enabled: phase === 'in',
    placeholderData: (last) => last,
  })
  // The frame of all pages is rendered in several short tasks.
  const site = useDeferredValue(navigation.data)
  const [isSearching, setSearching] = useState(false)
  const [isHelped, setHelped] = useState(false)
  useEffect(() => {
    if (phase !== 'in') return
    const onKey = (event: KeyboardEvent) => {
      const shortcut = pressed('everywhere', event)
      // In a field these keys are letters. An open dialog covers the page, and a menu finds its items by letters.
      const isFree = !isTyping(event.target) && !isLayerOpen()
      if (shortcut === 'palette' && !event.shiftKey) setSearching((is) => !is)
      else if (shortcut === 'message') {
        if (!focusMessage()) return
      } else if (!isFree) return
      else if (shortcut === 'help') setHelped(true)
      else if (shortcut === 'search') focusSearch()
      else if (shortcut === 'row') focusRow(event.target)
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [phase])
  const known = account.data
  const username = known?.username ?? ''
  const kept = usePreferencesOfUser(known?.id, base)
  const { zone } = useSyncExternalStore(kept.subscribe, kept.current)
  // The owner is set during rendering, so that a form below finds the drafts of this user when it opens.
  if (known !== undefined) setDraftOwner(known.id)
  const first = useRef(known?.id)
  useEffect(() => {
    if (known === undefined) return
    first.current ??= known.id
    // If another tab signed in as another user, that user must not see data of the previous user.
    if (first.current === known.id) session.begin(false)
    else location.reload()
  }, [known, session])
  const shownLanguage = useRef(language)
  useEffect(() => {
    if (shownLanguage.current === language) return
    shownLanguage.current = language
    // Rows and names contain texts in the language of their call.
    void client.invalidateQueries()
  }, [language, client])
  const failed = useLastFailure(account.error ?? navigation.error, navigation.data !== undefined)
  const signedIn = ({ id }: Account) => {
    // Another user must not see data of the previous user.
    if (known !== undefined && known.id !== id) return location.reload()
    // A sign-in is a proof of identity, so calls that wait for one continue.
    void api.proofs.prove(async () => {})
    session.begin(true)
    void client.invalidateQueries()
  }
  const content = () => {
    if (phase === 'out') return <SignInPage onSignedIn={signedIn} />
    if (
      failed !== null &&
      navigation.data === undefined &&
      !(failed instanceof CallFailure && failed.kind === 'signed-out')
    ) {
      return <Away failure={failed} onRetry={() => void client.invalidateQueries()} />
    }
    if (site === undefined) return <div className={classes.blank} aria-busy="true" />
    return (
      <SiteContext value={site}>
        <UserPreferencesContext value={kept}>
          <Live isOn={phase === 'in' && site.groups.length > 0}>
            <Router base={base}>
              <div className={classes.shell}>
                <Boundary>
                  <Navigation
                    navigation={site}
                    username={username}
                    session={session}
                    onSearch={() => setSearching(true)}
                    onShortcuts={() => setHelped(true)}
                  />
                </Boundary>
                <main className={classes.main} id={contentId} tabIndex={-1}>
                  <PageOfAddress account={known} session={session} places={site.groups} />
                  <div id={menusId} />
                </main>
              </div>
              <DialogPart isOpen={isSearching} onClose={() => setSearching(false)}>
                <Palette
                  navigation={site}
                  isOpen={isSearching}
                  onClose={() => setSearching(false)}
                  onShortcuts={() => setHelped(true)}
                />
              </DialogPart>
              <DialogPart isOpen={isHelped} onClose={() => setHelped(false)}>
                {isHelped && <ShortcutList isOpen onClose={() => setHelped(false)} />}
              </DialogPart>
              <ToastRegion />
              <ProofPart />
              <DialogPart isOpen={phase === 'ended'} onClose={() => {}}>
                {phase === 'ended' && <EndedSession username={username} onSignedIn={signedIn} />}
              </DialogPart>
            </Router>
          </Live>
        </UserPreferencesContext>
      </SiteContext>
    )
  }
  return (
    <>
      <ConnectionLine connection={connection} zone={zoneOf(navigation.data?.timeZone, zone).name} />
      <Boundary>{content()}</Boundary>
    </>
  )
}

/**
 * Shows the page at the current address. An error of the page is removed when the address changes. The page does not
 * render again when a dialog of the shell opens.
 */
const PageOfAddress = memo(function PageOfAddress({
  account,
  session,
  places,
}: {
  readonly account: Account | undefined
  readonly session: SessionState
  readonly places: NavigationView['groups']
}) {
  const [address] = useLocation()
  useFocusKeeper(address)
  const kept = useUserPreferences().kept
  const pageId = decodeURIComponent(address.split('/')[1] ?? '')
  const visited = placeOf(places, pageId)?.page.id
  useEffect(() => {
    if (visited !== undefined) kept.visit(visited)
  }, [kept, visited])
  return (
    <>
      <PlaceTabs places={places} pageId={pageId} />
      <Boundary
        resetKey={address}
        waiting={<div className={classes.blank} aria-busy="true" />}
        place={(notice) => (
          <>
            <h1 className="visually-hidden">{siteName}</h1>
            {notice}
          </>
        )}
      >
        <Switch>
          <Route path="/">
            <Home account={account} session={session} />
          </Route>
          <Route path="/:page/:id?">
            {({ page, id }) => {
              const now = successorOf(places, decodeURIComponent(page))
              if (now !== undefined) return <Redirect to={`/${now}`} replace />
              return Object.hasOwn(ownPages, decodeURIComponent(page)) ? (
                <OwnPage key={page} id={decodeURIComponent(page)} />
              ) : (
                <DeclaredPage key={page} page={decodeURIComponent(page)} id={id && decodeURIComponent(id)} />
              )
            }}
          </Route>
        </Switch>
      </Boundary>
    </>
  )
})

interface DialogPartProps {
  readonly isOpen: boolean
  onClose(): void
  readonly children: ReactNode
}

/** A dialog with its own script. If the script does not load, the error is shown when the user opens the dialog. */
const DialogPart = ({ isOpen, onClose, children }: DialogPartProps) => (
  <Boundary
    resetKey={isOpen}
    place={(notice) =>
      isOpen && (
        <Modal opened withCloseButton={false} onClose={onClose}>
          {notice}
        </Modal>
      )
    }
  >
    {children}
  </Boundary>
)

/** The dialog for a proof of identity. Its script is loaded with the first question. */
function ProofPart() {
  const { proofs } = useApi()
  const { translate } = useLanguage()
  const isOpen = useSyncExternalStore(proofs.subscribe, proofs.current) !== undefined
  const [wasOpen, setWasOpen] = useState(isOpen)
  if (isOpen && !wasOpen) setWasOpen(true)
  const cancel = () => proofs.cancel(translate('admin.proof.cancelled'))
  return (
    <DialogPart isOpen={isOpen} onClose={cancel}>
      {wasOpen && <ProofDialog onCancel={cancel} />}
    </DialogPart>
  )
}

/** Returns the last error of a query. It stays during a retry, until the query succeeds. */
function useLastFailure(failure: Error | null, isThere: boolean): Error | null {
  const [last, setLast] = useState<Error | null>(null)
  useEffect(() => {
    if (isThere) setLast(null)
    else if (failure !== null) setLast(failure)
  }, [failure, isThere])
  return failure ?? last
}

/** Tells the user that the server is unreachable, and retries automatically. */
function Away({ failure, onRetry }: { readonly failure: Error; onRetry(): void }) {
  useEffect(() => {
    const timer = setInterval(onRetry, 5_000)
    return () => clearInterval(timer)
  }, [onRetry])
  const { message, traceId } = failure instanceof CallFailure ? failure : { message: '', traceId: '' }
  return (
    <main className={classes.away}>
      <h1>{siteName}</h1>
      <FailureNotice message={message} traceId={traceId} onRetry={onRetry} />
    </main>
  )
}
