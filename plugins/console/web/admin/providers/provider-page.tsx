import { Anchor, Button } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import { addTexts } from '../../text/texts.ts'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import { providerLink, providerProof, providerProofStart } from '../api/operations.ts'
import { useWrite } from '../api/use-write.ts'
import {
  type PendingSignIn,
  type ProvidersWay,
  type SessionState,
  type SignInResult,
  secondFactorWay,
  useSignIn,
} from '../shell/session/session-state.ts'
import classes from '../shell/session/sign-in.module.css'
import { SignInCard } from '../shell/session/sign-in.tsx'
import { base } from '../shell/site-context.ts'
import { addressHere, leaveTo, openPage, type Purpose, providerHere, takeDeparture } from './provider-flow.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

const SecondStep = lazy(() => import('../factors/second-step.tsx'))

/** True if this page was opened as the window of a proof, which begins there. */
const isProofWindow = location.hash === '#proof'
/** Response of the provider. It is removed from the address, because it contains a code. */
const parameters = location.search.slice(1)
const departure = isProofWindow ? undefined : takeDeparture(providerHere)
history.replaceState(null, '', location.pathname)

/** The page to which a provider returns. It continues with what this tab began: a sign-in, a link or a proof. */
export default function ProviderPage({ way, session }: { readonly way: ProvidersWay; readonly session: SessionState }) {
  if (departure === undefined) return <ProofStart />
  if (departure.purpose === 'link') return <Link returnTo={departure.returnTo} />
  return departure.purpose === 'proof' ? (
    <Proof />
  ) : (
    <SignIn way={way} session={session} returnTo={departure.returnTo} />
  )
}

const params = { provider: providerHere }

function SignIn({
  way,
  session,
  returnTo,
}: {
  readonly way: ProvidersWay
  readonly session: SessionState
  readonly returnTo: string
}) {
  const signIn = useSignIn()
  const [pending, setPending] = useState<PendingSignIn>()
  const end = (address: string) => {
    session.begin(true)
    openPage(address)
  }
  const step = useWrite((signal) => signIn(way.callback, { parameters }, signal, params), {
    onSuccess: (result: SignInResult) =>
      'pending' in result ? setPending(result.pending) : end(result.opened.returnTo ?? returnTo),
  })
  useStart(step.mutate)
  if (pending === undefined || secondFactorWay === undefined)
    return <Waiting purpose="sign-in" error={step.error} back={returnTo} />
  return (
    <Card purpose="sign-in">
      <Suspense fallback={null}>
        <SecondStep
          way={secondFactorWay}
          pending={pending}
          onSignedIn={() => end(returnTo)}
          onRestart={() => openPage(returnTo)}
        />
      </Suspense>
    </Card>
  )
}

/** Asks before the account is linked, because another site may have opened this page. */
function Link({ returnTo }: { readonly returnTo: string }) {
  const { translate } = useLanguage()
  const api = useApi()
  const step = useWrite((signal) => api.call(providerLink, { params, body: { parameters }, signal }), {
    onSuccess: () => openPage(returnTo),
  })
  if (step.error !== null) return <Waiting purpose="link" error={step.error} back={returnTo} />
  return (
    <Card purpose="link">
      <p>{translate('providers.link-lead')}</p>
      <Button loading={step.isPending} onClick={() => step.mutate()}>
        {translate('providers.link-submit')}
      </Button>
      <Anchor href={returnTo}>{translate('admin.cancel')}</Anchor>
    </Card>
  )
}

function ProofStart() {
  const api = useApi()
  const step = useWrite(
    (signal) => api.call<{ readonly url: string }>(providerProofStart, { params, body: {}, isProof: true, signal }),
    { onSuccess: ({ url }) => leaveTo(url, { provider: providerHere, purpose: 'proof', returnTo: addressHere() }) },
  )
  useStart(step.mutate)
  return <Waiting purpose="proof" error={step.error} back="" />
}

function Proof() {
  const { translate } = useLanguage()
  const api = useApi()
  // The call is never aborted, because the server may already have replaced the token of the session.
  const signal = new AbortController().signal
  const step = useWrite(
    () => api.proofs.prove(() => api.call(providerProof, { params, body: { parameters }, isProof: true, signal })),
    { onSuccess: () => window.close() },
  )
  useStart(step.mutate)
  if (!step.isSuccess) return <Waiting purpose="proof" error={step.error} back="" />
  return (
    <Card purpose="proof">
      <p role="status">{translate('providers.proven')}</p>
    </Card>
  )
}

/** Starts a write once, when the page opens. */
function useStart(start: () => void): void {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the response of the provider is used once
  useEffect(start, [])
}

interface WaitingProps {
  readonly purpose: Purpose
  readonly error: Error | null
  /** Address of the way back after an error. */
  readonly back: string
}

/** Shows that the page works, or why it failed with a way back. */
function Waiting({ purpose, error, back }: WaitingProps) {
  const { translate } = useLanguage()
  const isWindow = purpose === 'proof'
  return (
    <Card purpose={purpose}>
      {error === null ? (
        <p role="status">{translate(parameters === '' ? 'providers.going' : 'providers.working')}</p>
      ) : (
        <>
          <Notice tone="bad" title={translate(`providers.failed.${purpose}`)}>
            {error instanceof CallFailure && error.message !== ''
              ? error.message
              : translate('app.failure.unreachable')}
          </Notice>
          {isWindow ? (
            <Button variant="default" onClick={() => window.close()}>
              {translate('providers.back.proof')}
            </Button>
          ) : (
            <Anchor href={back === '' ? `${base}/` : back}>{translate(`providers.back.${purpose}`)}</Anchor>
          )}
        </>
      )}
    </Card>
  )
}

function Card({ purpose, children }: { readonly purpose: Purpose; readonly children: ReactNode }) {
  const { translate } = useLanguage()
  return (
    <SignInCard title={translate(`providers.${purpose}`)}>
      <div className={classes.form}>{children}</div>
    </SignInCard>
  )
}
