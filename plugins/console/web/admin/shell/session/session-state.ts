import { useApi } from '../../api/context.tsx'
import { type Account, type Callable, ownAccount } from '../../api/operations.ts'
import { forgetDrafts } from '../drafts.ts'

/** A wallet of this browser signs a message of the server. */
export interface WalletWay {
  readonly id: string
  readonly kind: 'wallet'
  readonly challenge: Callable
  readonly login: Callable
}

/** Ways to sign in besides name and password, as the server wrote them into the page; those that this page does not know are left out. */
export const signInWays: readonly WalletWay[] = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="sign-in-ways"]')?.content || '[]',
).filter(({ kind }: { readonly kind: string }) => kind === 'wallet')

/** Opens a session by what somebody proves; the browser holds a cookie that no script can read. Answers whose it is. */
type SignIn = (operation: Callable, proof: object, signal: AbortSignal) => Promise<Account>

export function useSignIn(): SignIn {
  const api = useApi()
  return async (operation, proof, signal) => {
    await api.call(operation, { body: { ...proof, session: 'cookie' }, signal })
    return api.call<Account>(ownAccount, { signal })
  }
}

/** `unknown` until the server has been asked. `ended`: somebody was signed in, and what is on the page stays. */
type SessionPhase = 'unknown' | 'out' | 'in' | 'ended'

/** Whether somebody is signed in, shared with the other tabs of this browser. */
export class SessionState {
  readonly #listeners = new Set<() => void>()
  readonly #channel = new BroadcastChannel('plinth.session')
  #phase: SessionPhase = 'unknown'

  constructor() {
    this.#channel.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (data === 'out' && this.#phase === 'in') this.#set('ended')
      // Somebody may have signed in as another person: what is shown is asked for again.
      if (data === 'in' && this.#phase !== 'in') location.reload()
    }
  }

  readonly current = (): SessionPhase => this.#phase

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The server knows this browser. */
  begin(isNew: boolean): void {
    this.#set('in')
    if (isNew) this.#channel.postMessage('in')
  }

  /** The server does not know it, or not any more. */
  end(): void {
    this.#set(this.#phase === 'in' || this.#phase === 'ended' ? 'ended' : 'out')
  }

  /** Somebody signed out here: other tabs learn of it. */
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
