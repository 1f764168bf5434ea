import { extensionPoint, shape } from '@plinth/kernel'

/**
 * Strength of a proof method, from the weakest to the strongest.
 *
 * - `knowledge`: a text that the user knows and could enter on another site, such as a password.
 * - `possession`: a code or a signature of a device or key of the user.
 * - `phishing-resistant`: also bound to the address of this site, such as a passkey.
 */
export const proofStrengths = ['knowledge', 'possession', 'phishing-resistant'] as const
export type ProofStrength = (typeof proofStrengths)[number]

/**
 * A way in which signed-in users prove their identity again. The plugin that contributes it also adds a route with the
 * access `user`. The route checks the proof with `Identity.proveAgain` and returns the result of `respondWithProof`.
 */
export interface ProofMethod {
  readonly strength: ProofStrength
  /** Returns whether the user can prove their identity in this way now, for example has set up a device. */
  isAvailable(userId: number): boolean | Promise<boolean>
  /** Present if the method is also a second factor of a sign-in. */
  readonly secondFactor?: SecondFactor
  /** True if the user can sign in with this method alone. External identities and passwords are known to iam. */
  readonly signsIn?: boolean
  /**
   * Returns false if an external identity of this provider (`ExternalIdentity.provider`) cannot sign in now, for example
   * because nothing is configured for it. It then does not count as a way to sign in. Default: it can.
   */
  acceptsExternal?(provider: string): boolean
  /**
   * Removes everything that the user has set up for this method. Runs in a transaction. Returns false if there was
   * nothing to remove.
   */
  reset?(userId: number): Promise<boolean>
}

/** A method that completes a sign-in whose first factor is proven. See `Identity.completeSignIn`. */
export interface SecondFactor {
  /**
   * Returns whether the user has set up the method, even if it cannot be used now. The sign-in of this user then needs a
   * second factor. If it throws, nobody signs in with one factor only.
   */
  isSetUp(userId: number): boolean | Promise<boolean>
  /** Returns whether a user without a second factor can set up this method during sign-in. Default: no. */
  canSetUp?(): boolean
  /**
   * True for codes that replace a lost device. They only complete a sign-in: they are no fresh proof. After such a
   * sign-in, the user may change the other factors.
   */
  readonly isRecovery?: boolean
}

/**
 * Methods of a fresh proof by name, such as `password`. A plugin that contributes a method may require `identity` and
 * `accounts`. The names are sent to callers in `data.methods` of `iam.proof-required`.
 */
export const proofMethod = extensionPoint<ProofMethod>('iam.proof-method', {
  from: '@plinth/iam',
  live: true,
  names: shape.kebab,
  shape: shape.object<ProofMethod>(
    { strength: shape.among(proofStrengths), isAvailable: shape.function },
    {
      secondFactor: shape.object<SecondFactor>(
        { isSetUp: shape.function },
        { canSetUp: shape.function, isRecovery: shape.flag },
      ),
      signsIn: shape.flag,
      acceptsExternal: shape.function,
      reset: shape.function,
    },
  ),
})

/** The last proof of identity in a session: the login, or a later proof. */
export interface SessionProof {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Name of the method: of a login, such as `password`, or of a `ProofMethod`. */
  readonly by: string
}
