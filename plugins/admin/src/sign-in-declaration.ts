import { extensionPoint, shape } from '@plinth/kernel'

/**
 * A sign-in method of the back office in addition to name and password. It is offered on the sign-in page and in the
 * dialog after a session has ended. No code of a plugin runs in the browser: the console implements each kind.
 */
export interface WalletSignIn {
  /** Unique in the product: the id of the plugin and a word, for example `wallet-login.evm`. */
  readonly id: string
  /** An EVM wallet of the browser (EIP-6963, EIP-1193) signs a message of the server with `personal_sign`. */
  readonly kind: 'wallet'
  /**
   * Public operation with the body `{chainType: 'evm', address, chainId?}` and the result `{challengeId, message,
   * issuedAt, expiresAt}`.
   */
  readonly challenge: string
  /**
   * Public operation with the body `{challengeId, address, signature, session: 'cookie'}`. It sets the session cookie.
   */
  readonly login: string
}

/** All kinds that the console supports. */
export type SignInDeclaration = WalletSignIn

/** Sign-in methods of the back office, each contributed under its id. */
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
