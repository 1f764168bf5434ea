import { extensionPoint, shape } from '@plinth/kernel'

/**
 * Sign-in method of the back office, in addition to name and password. It is offered on the sign-in page, and in a
 * dialog when the session has ended. The console implements each kind, so no code of the plugin runs in the browser.
 */
export interface WalletSignIn {
  /** Unique in the product: plugin id and a word, for example `wallet-login.evm`. */
  readonly id: string
  /** An EVM wallet in the browser (EIP-6963, EIP-1193) signs a message of the server with `personal_sign`. */
  readonly kind: 'wallet'
  /**
   * Id of a public operation with the body `{chainType: 'evm', address, chainId?}` and the result `{challengeId,
   * message, issuedAt, expiresAt}`.
   */
  readonly challenge: string
  /**
   * Id of a public operation with the body `{challengeId, address, signature, session: 'cookie'}`. It sets the session
   * cookie.
   */
  readonly login: string
}

export type SignInDeclaration = WalletSignIn

/** Sign-in methods of the back office, each contributed under its id. */
export const signInWays = extensionPoint<SignInDeclaration>('console.sign-in', {
  from: '@plinth/console/admin',
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
