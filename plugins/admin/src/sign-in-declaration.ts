import { extensionPoint, shape } from '@plinth/kernel'

/**
 * A way to sign in to the back office besides name and password. The page to sign in offers what is contributed, and so does
 * the dialog over a page whose session has ended. As with pages, no code of a plugin runs in the browser: the console knows
 * what each kind does there.
 */
export interface WalletSignIn {
  /** Unique in the product, as the plugin that owns it and a word: `wallet-login.evm`. */
  readonly id: string
  /** An EVM wallet of the browser (EIP-6963, EIP-1193) signs a message of the server with `personal_sign`. */
  readonly kind: 'wallet'
  /**
   * Public operation that is sent `{chainType: 'evm', address, chainId?}` and answers
   * `{challengeId, message, issuedAt, expiresAt}`.
   */
  readonly challenge: string
  /** Public operation that is sent `{challengeId, address, signature, session: 'cookie'}` and sets the cookie of the session. */
  readonly login: string
}

/** All kinds that the console knows. */
export type SignInDeclaration = WalletSignIn

/** Ways to sign in to the back office, each contributed under its id. */
export const signInWays = extensionPoint<SignInDeclaration>('console.sign-in', {
  from: '@plinth/console',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shape.record<SignInDeclaration>({
    id: shape.text,
    kind: shape.among(['wallet']),
    challenge: shape.text,
    login: shape.text,
  }),
})
