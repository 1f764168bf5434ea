import { CallFailure } from '../../api/call.ts'
import { useApi } from '../../api/context.tsx'
import { type Account, type Callable, ownAccount } from '../../api/operations.ts'
import { forgetDrafts } from '../drafts.ts'
import { base } from '../site-context.ts'
import { forgetReturnAddress } from './return-address.ts'

/** A sign-in method with its operations. See `SignInWay` of `@plinth/admin`. */
type WayOf<Kind extends string, Operations extends string> = { readonly id: string; readonly kind: Kind } & {
  readonly [name in Operations]: Callable
}

/** A wallet in the browser signs a message of the server. */
export type WalletWay = WayOf<'wallet', 'challenge' | 'login'>
/** Recovery of a password by e-mail. */
export type RecoveryWay = WayOf<'recovery', 'status' | 'request' | 'complete' | 'email'>
/** A passkey of the browser. */
export type PasskeyWay = WayOf<'passkey', 'options' | 'login'>
/** Operations of the second step: a proof by each method, and the set-up of a method. */
export type SecondFactorWay = WayOf<
  'second-factor',
  | 'passkeyOptions'
  | 'passkey'
  | 'totp'
  | 'recoveryCode'
  | 'setUpPasskeyOptions'
  | 'setUpPasskey'
  | 'setUpTotpOptions'
  | 'setUpTotp'
>
/** Sign-in at other servers. */
export type ProvidersWay = WayOf<'providers', 'list' | 'start' | 'callback'>

type Way = WalletWay | RecoveryWay | PasskeyWay | SecondFactorWay | ProvidersWay

/** Sign-in methods that the server has written into the page. Unknown kinds are ignored. */
const ways: readonly Way[] = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="sign-in-ways"]')?.content || '[]',
)

/** Additional sign-in methods. */
export const signInWays = ways.filter((way) => way.kind === 'wallet')

const wayOf = <Kind extends Way['kind']>(kind: Kind) =>
  ways.find((way): way is Extract<Way, { readonly kind: Kind }> => way.kind === kind)

/** Each way is absent if no plugin of the product provides it. */
export const recoveryWay = wayOf('recovery')
export const passkeyWay = wayOf('passkey')
export const secondFactorWay = wayOf('second-factor')
export const providersWay = wayOf('providers')

/** Address of the page that recovers accounts. Links in mails open it too. */
export const recoveryAddress = `${base}/recovery`

/** A sign-in whose first step succeeded. It is no session yet. */
export interface PendingSignIn {
  readonly token: string
  /** Names of the methods for the second step, the strongest first. */
  readonly methods: readonly string[]
  /** True if the user must set up one of the methods. */
  readonly isSetUp: boolean
}

/** Members of the response to a sign-in that this page reads. */
interface OpenedSession {
  readonly returnTo?: string | null
}

export type SignInResult =
  | { readonly account: Account; readonly opened: OpenedSession }
  | { readonly pending: PendingSignIn }

/**
 * Opens a session with a proof of identity and returns the account, or the second step that is still needed. The browser
 * stores a cookie that scripts cannot read.
 */
type SignIn = (
  operation: Callable,
  proof: object,
  signal: AbortSignal,
  params?: Readonly<Record<string, string>>,
) => Promise<SignInResult>

export function useSignIn(): SignIn {
  const api = useApi()
  return async (operation, proof, signal, params = {}) => {
    try {
      const opened = await api.call<OpenedSession>(operation, { params, body: { ...proof, session: 'cookie' }, signal })
      return { account: await api.call<Account>(ownAccount, { signal }), opened }
    } catch (error) {
      const pending = pendingOf(error)
      if (pending === undefined) throw error
      return { pending }
    }
  }
}

function pendingOf(error: unknown): PendingSignIn | undefined {
  if (!(error instanceof CallFailure) || error.reason !== 'iam.second-factor-required') return undefined
  const { pendingToken, methods, setUp } = error.data
  if (typeof pendingToken !== 'string' || !Array.isArray(methods) || secondFactorWay === undefined) return undefined
  return { token: pendingToken, methods: methods.map(String), isSetUp: setUp === true }
}

/**
 * State of the session. `unknown`: the server has not responded yet. `ended`: the session has ended, but the page is
 * still open.
 */
type SessionPhase = 'unknown' | 'out' | 'in' | 'ended'

/** State of the session. All tabs of this browser share it. */
export class SessionState {
  readonly #listeners = new Set<() => void>()
  readonly #channel = new BroadcastChannel(`plinth.session ${base}`)
  #phase: SessionPhase = 'unknown'

  constructor() {
    this.#channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === 'out' && this.#phase === 'in') this.#set('ended')
      // Another user may have signed in in another tab, so all displayed data is loaded again.
      if (data === 'in' && this.#phase !== 'in') location.reload()
    }
  }

  readonly current = (): SessionPhase => this.#phase

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Called when the server accepts the session. */
  begin(isNew: boolean): void {
    this.#set('in')
    if (isNew) this.#channel.postMessage('in')
  }

  /** Called when the server reports that there is no session, or that the session has ended. */
  end(): void {
    this.#set(this.#phase === 'in' || this.#phase === 'ended' ? 'ended' : 'out')
  }

  /**
   * Signs out in this tab and notifies the other tabs.
   *
   * @param next opens another page. Default: the sign-in page
   */
  leave(next = () => location.reload()): void {
    forgetDrafts()
    forgetReturnAddress()
    this.#channel.postMessage('out')
    this.#phase = 'out'
    next()
  }

  #set(phase: SessionPhase): void {
    if (phase === this.#phase) return
    this.#phase = phase
    for (const listener of this.#listeners) listener()
  }
}
