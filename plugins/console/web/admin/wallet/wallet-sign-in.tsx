import { Button } from '@mantine/core'
import { IconWallet } from '@tabler/icons-react'
import { useEffect, useRef, useState } from 'react'
import { useLanguage } from '../../app/app.tsx'
import { Notice } from '../../app/notice.tsx'
import { addTexts, type Translate } from '../../text/texts.ts'
import { CallFailure } from '../api/call.ts'
import { useApi } from '../api/context.tsx'
import type { Callable } from '../api/operations.ts'
import en from './text/en.json' with { type: 'json' }
import zhCN from './text/zh-CN.json' with { type: 'json' }
import {
  type Challenge,
  discoverWallets,
  signInWithWallet,
  type Wallet,
  WalletFailure,
  type WalletStep,
} from './wallet-flow.ts'
import classes from './wallet-sign-in.module.css'

addTexts({ en, 'zh-CN': zhCN })

/** Time in milliseconds to wait for announcements of wallets. */
const collectMs = 300

type Stage =
  | { readonly is: 'idle'; readonly failure?: unknown }
  | { readonly is: 'looking' }
  | { readonly is: 'choosing' }
  | { readonly is: 'asking'; readonly wallet: Wallet; readonly step: WalletStep }

export interface WalletSignInProps<Result> {
  /** Operation that returns the message to sign. */
  readonly challenge: Callable
  /** Label of the button, and title of a failure. */
  readonly labels: { readonly action: string; readonly failed: string }
  /** Sends the signature to the server. */
  send(proof: object, signal: AbortSignal): Promise<Result>
  onDone(result: Result): void
}

/** Finds the wallets of this browser, lets the user choose one, and requests the signature of the server's message. */
export default function WalletSignIn<Result>(props: WalletSignInProps<Result>) {
  const { labels } = props
  const { translate } = useLanguage()
  const { wallets, stage, look, begin, cancel } = useWalletStages(props)
  const section = useFocus(stage.is)
  const failure = stage.is === 'idle' ? stage.failure : undefined
  return (
    <section ref={section} className={classes.wallet} aria-label={labels.action}>
      {failure !== undefined && (
        <Notice tone="bad" title={labels.failed}>
          {sentenceOf(failure, translate)}
        </Notice>
      )}
      <p role="status" className={classes.status}>
        {statusOf(stage, translate)}
      </p>
      {stage.is === 'choosing' && (
        <ul className={classes.wallets}>
          {wallets.map((wallet) => (
            <li key={wallet.id}>
              <Button
                variant="default"
                fullWidth
                justify="flex-start"
                leftSection={wallet.icon === '' ? <IconWallet size={20} aria-hidden /> : <Picture of={wallet} />}
                onClick={() => begin(wallet)}
              >
                {wallet.name || translate('wallet.unnamed')}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {/* The same button is used in each stage, so that it keeps the focus. */}
      <Button
        data-main
        variant={stage.is === 'idle' ? 'default' : 'subtle'}
        fullWidth
        leftSection={stage.is === 'idle' && <IconWallet size={18} aria-hidden />}
        onClick={stage.is === 'idle' ? look : cancel}
      >
        {stage.is === 'idle' ? labels.action : translate('admin.cancel')}
      </Button>
    </section>
  )
}

const Picture = ({ of }: { readonly of: Wallet }) => <img src={of.icon} alt="" width={20} height={20} />

/** Returns the current stage and its actions. Discovers wallets from the start. */
function useWalletStages<Result>({ challenge, send, onDone }: WalletSignInProps<Result>) {
  const api = useApi()
  const [wallets, setWallets] = useState<readonly Wallet[]>([])
  const [stage, setStage] = useState<Stage>({ is: 'looking' })
  const found = useRef(wallets)
  found.current = wallets
  const asking = useRef<AbortController>(undefined)
  useEffect(() => () => asking.current?.abort(), [])

  const begin = async (wallet: Wallet) => {
    const leaving = new AbortController()
    asking.current = leaving
    try {
      const result = await signInWithWallet({
        wallet: wallet.provider,
        challenge: (body, signal) => api.call<Challenge>(challenge, { body, signal }),
        login: send,
        onStep: (step) => setStage({ is: 'asking', wallet, step }),
        now: Date.now,
        signal: leaving.signal,
      })
      onDone(result)
    } catch (failure) {
      if (!leaving.signal.aborted) setStage({ is: 'idle', failure })
    }
  }
  const isLooking = stage.is === 'looking'
  const isOver = stage.is === 'idle'
  // The discovery continues while the user chooses, because a newly installed wallet announces itself late.
  useEffect(() => (isOver ? undefined : discoverWallets(window, setWallets)), [isOver])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a newly found wallet must not restart the timer
  useEffect(() => {
    if (!isLooking) return
    const timer = setTimeout(() => {
      const [first, ...others] = found.current
      if (first === undefined) setStage({ is: 'idle', failure: new WalletFailure('none') })
      else if (others.length > 0) setStage({ is: 'choosing' })
      else void begin(first)
    }, collectMs)
    return () => clearTimeout(timer)
  }, [isLooking])
  return {
    wallets,
    stage,
    look: () => setStage({ is: 'looking' }),
    begin: (wallet: Wallet) => void begin(wallet),
    cancel: () => {
      asking.current?.abort()
      setStage({ is: 'idle' })
    },
  }
}

/**
 * Moves the focus when the focused element is removed: to the first choice, or to the button that is always present.
 */
function useFocus(stage: Stage['is']) {
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    const { current } = section
    const { activeElement } = document
    // If the user is typing a password meanwhile, the focus is not moved.
    if (activeElement !== document.body && !current?.contains(activeElement)) return
    current?.querySelector<HTMLElement>(stage === 'choosing' ? 'li button' : '[data-main]')?.focus()
  }, [stage])
  return section
}

function statusOf(stage: Stage, translate: Translate): string {
  if (stage.is === 'idle') return ''
  if (stage.is !== 'asking') return translate(`wallet.${stage.is}`)
  return translate(`wallet.${stage.step}`, { name: stage.wallet.name || translate('wallet.unnamed') })
}

function sentenceOf(failure: unknown, translate: Translate): string {
  if (failure instanceof WalletFailure) return translate(`wallet.fault.${failure.fault}`, { code: failure.code ?? '–' })
  if (!(failure instanceof CallFailure) || failure.kind === 'away') return translate('app.failure.unreachable')
  return failure.kind === 'signed-out' ? translate('wallet.fault.refused') : failure.message
}
