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

/**
 * Recovery of a password by e-mail. The sign-in page links to it while it is available, and the page `recovery` of the
 * back office opens the links of the mails.
 */
export interface RecoverySignIn {
  readonly id: string
  readonly kind: 'recovery'
  /** Id of a public GET operation with the result `{available}`. */
  readonly status: string
  /** Id of a public operation with the body `{identifier}`. */
  readonly request: string
  /** Id of a public operation with the body `{token, password}`. */
  readonly complete: string
  /** Id of a public operation with the body `{token}` and the result `{purpose}`. */
  readonly email: string
}

export type SignInDeclaration = WalletSignIn | RecoverySignIn

/** Sign-in methods of the back office, each contributed under its id. */
export const signInWays = extensionPoint<SignInDeclaration>('console.sign-in', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shape.variants('kind', [
    shape.record<WalletSignIn>({
      id: shape.text,
      kind: shape.among(['wallet']),
      challenge: shape.text,
      login: shape.text,
    }),
    shape.record<RecoverySignIn>({
      id: shape.text,
      kind: shape.among(['recovery']),
      status: shape.text,
      request: shape.text,
      complete: shape.text,
      email: shape.text,
    }),
  ]),
})
