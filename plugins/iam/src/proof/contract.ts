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
  /** True if the user can sign in with this method alone. External identities and passwords are known to iam. */
  readonly signsIn?: boolean
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
    { signsIn: shape.flag },
  ),
})

/** The last proof of identity in a session: the login, or a later proof. */
export interface SessionProof {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Name of the method: of a login, such as `password`, or of a `ProofMethod`. */
  readonly by: string
}
