import type { Callable } from '../../api/callable.ts'

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
