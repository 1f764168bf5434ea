import { Anchor, Button } from '@mantine/core'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { addTexts } from '../../text/texts.ts'
import { useApi } from '../api/context.tsx'
import { providerLink, providerProof, providerProofStart } from '../api/operations.ts'
import { useWrite } from '../api/use-write.ts'
import { CallError } from '../pages/call-error.tsx'
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
import { leaveTo, openPage, type Purpose, takeArrival } from './provider-flow.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }

addTexts({ en, 'zh-CN': zhCN })

const SecondStep = lazy(() => import('../factors/second-step.tsx'))

const { provider, purpose, parameters, returnTo, isProofWindow } = takeArrival()
const params = { provider }

interface ProviderPageProps {
  readonly way: ProvidersWay
  readonly session: SessionState
}

/** The page to which a provider returns. It continues with what this tab began: a sign-in, a link or a proof. */
export default function ProviderPage(props: ProviderPageProps) {
  if (isProofWindow) return <ProofStart />
  if (purpose === 'link') return <Link />
  return purpose === 'proof' ? <Proof /> : <SignIn {...props} />
}

function SignIn({ way, session }: ProviderPageProps) {
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
  if (pending === undefined || secondFactorWay === undefined) return <Waiting purpose="sign-in" error={step.error} />
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
function Link() {
  const { translate } = useLanguage()
  const api = useApi()
  const step = useWrite((signal) => api.call(providerLink, { params, body: { parameters }, signal }), {
    onSuccess: () => openPage(returnTo),
  })
  if (step.error !== null) return <Waiting purpose="link" error={step.error} />
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
    (signal) => api.call<{ readonly url: string }>(providerProofStart, { params, isProof: true, signal }),
    { onSuccess: ({ url }) => leaveTo(url, { provider, purpose: 'proof', returnTo: '' }) },
  )
  useStart(step.mutate)
  return <Waiting purpose="proof" error={step.error} />
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
  if (!step.isSuccess) return <Waiting purpose="proof" error={step.error} />
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
}

/** Shows that the page works, or why it failed with a way back. */
function Waiting({ purpose, error }: WaitingProps) {
  const { translate } = useLanguage()
  const isWindow = purpose === 'proof'
  return (
    <Card purpose={purpose}>
      {error === null ? (
        <p role="status">{translate(parameters === '' ? 'providers.going' : 'providers.working')}</p>
      ) : (
        <>
          <CallError title={translate(`providers.failed.${purpose}`)} error={error} />
          {isWindow ? (
            <Button variant="default" onClick={() => window.close()}>
              {translate('providers.back.proof')}
            </Button>
          ) : (
            <Anchor href={returnTo || `${base}/`}>{translate(`providers.back.${purpose}`)}</Anchor>
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
