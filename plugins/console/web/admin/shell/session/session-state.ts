import { useApi } from '../../api/context.tsx'
import { type Account, type Callable, ownAccount } from '../../api/operations.ts'
import { forgetDrafts } from '../drafts.ts'
import { base } from '../site-context.ts'

/** Sign-in method: a wallet in the browser signs a message of the server. */
export interface WalletWay {
  readonly id: string
  readonly kind: 'wallet'
  readonly challenge: Callable
  readonly login: Callable
}

/** Recovery of a password by e-mail. See `RecoverySignIn` of `@plinth/admin`. */
export interface RecoveryWay {
  readonly id: string
  readonly kind: 'recovery'
  readonly status: Callable
  readonly request: Callable
  readonly complete: Callable
  readonly email: Callable
}

/** Sign-in methods that the server has written into the page. Unknown kinds are ignored. */
const ways: readonly (WalletWay | RecoveryWay)[] = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="sign-in-ways"]')?.content || '[]',
)

/** Additional sign-in methods. */
export const signInWays = ways.filter((way) => way.kind === 'wallet')

/** Absent if no plugin of the product recovers accounts. */
export const recoveryWay = ways.find((way) => way.kind === 'recovery')

/** Address of the page that recovers accounts. Links in mails open it too. */
export const recoveryAddress = `${base}/recovery`

/**
 * Opens a session with a proof of identity and returns the account. The browser stores a cookie that scripts cannot
 * read.
 */
type SignIn = (operation: Callable, proof: object, signal: AbortSignal) => Promise<Account>

export function useSignIn(): SignIn {
  const api = useApi()
  return async (operation, proof, signal) => {
    await api.call(operation, { body: { ...proof, session: 'cookie' }, signal })
    return api.call<Account>(ownAccount, { signal })
  }
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

  /** Signs out in this tab and notifies the other tabs. */
  leave(): void {
    forgetDrafts()
    this.#channel.postMessage('out')
    this.#phase = 'out'
    location.reload()
  }

  #set(phase: SessionPhase): void {
    if (phase === this.#phase) return
    this.#phase = phase
    for (const listener of this.#listeners) listener()
  }
}
