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

/** A passkey of the browser or device signs the user in without a name (WebAuthn Level 3, discoverable credential). */
export interface PasskeySignIn {
  readonly id: string
  readonly kind: 'passkey'
  /** Id of a public operation with the result `{options, challengeId}`: PublicKeyCredentialRequestOptionsJSON and its id. */
  readonly options: string
  /** Id of a public operation with the body `{challengeId, response, session: 'cookie'}`. It sets the session cookie. */
  readonly login: string
}

/**
 * Second step of every sign-in method. A sign-in that needs it fails with the reason `iam.second-factor-required` and a
 * `pendingToken`. Each operation has this token in its body. Each operation whose name does not end with `Options`
 * has the member `session` too, and sets the session cookie.
 */
export interface SecondFactorSignIn {
  readonly id: string
  readonly kind: 'second-factor'
  /** Ids of public operations that prove the second factor. The result of options is `{options, challengeId}`. */
  readonly passkeyOptions: string
  readonly passkey: string
  readonly totp: string
  readonly recoveryCode: string
  /**
   * Ids of public operations for users who must set up a second factor to sign in. Both set-ups return `recoveryCodes`.
   * The options of TOTP are `{setUpId, secret, uri, qr}`.
   */
  readonly setUpPasskeyOptions: string
  readonly setUpPasskey: string
  readonly setUpTotpOptions: string
  readonly setUpTotp: string
}

/**
 * Sign-in through other servers, for example with OpenID Connect. A provider redirects to the page
 * `sign-in/oidc/<provider id>` of the back office, which sends the query string to `callback`.
 */
export interface ProviderSignIn {
  readonly id: string
  readonly kind: 'providers'
  /** Id of a public GET operation with the result `{providers: [{id, title, passwordHidden?}]}`. */
  readonly list: string
  /** Id of a public operation with the body `{returnTo, session: 'cookie'}` and the result `{url}`. */
  readonly start: string
  /** Id of a public operation with the body `{parameters, session: 'cookie'}` and the result `{returnTo}`. */
  readonly callback: string
}

export type SignInDeclaration = WalletSignIn | RecoverySignIn | PasskeySignIn | SecondFactorSignIn | ProviderSignIn

/** Returns the shape of a kind. Its other members are ids of operations. */
const shapeOf = <Way extends SignInDeclaration>(
  kind: Way['kind'],
  ...operations: readonly Exclude<keyof Way & string, 'id' | 'kind'>[]
) =>
  shape.record<SignInDeclaration>({
    id: shape.text,
    kind: shape.among([kind]),
    ...Object.fromEntries(operations.map((name) => [name, shape.text])),
  } as never)

/** Sign-in methods of the back office, each contributed under its id. */
export const signInWays = extensionPoint<SignInDeclaration>('console.sign-in', {
  from: '@plinth/console/admin',
  live: true,
  names: shape.dotted,
  namedBy: 'id',
  shape: shape.variants('kind', [
    shapeOf<WalletSignIn>('wallet', 'challenge', 'login'),
    shapeOf<RecoverySignIn>('recovery', 'status', 'request', 'complete', 'email'),
    shapeOf<PasskeySignIn>('passkey', 'options', 'login'),
    shapeOf<SecondFactorSignIn>(
      'second-factor',
      'passkeyOptions',
      'passkey',
      'totp',
      'recoveryCode',
      'setUpPasskeyOptions',
      'setUpPasskey',
      'setUpTotpOptions',
      'setUpTotp',
    ),
    shapeOf<ProviderSignIn>('providers', 'list', 'start', 'callback'),
  ]),
})
