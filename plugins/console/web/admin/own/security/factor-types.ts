/** Factors of the signed-in user, as `getAuthAuthenticators` returns them. Times are ISO 8601. */
export interface Factors {
  readonly passkeys: readonly Passkey[]
  readonly totp: { readonly since: string } | null
  readonly recoveryCodes: { readonly left: number; readonly createdAt: string } | null
  /** True if a role requires a second factor now. */
  readonly required: boolean
  /** Time from which a role requires one; null if no role does. */
  readonly requiredFrom: string | null
  readonly passkeysAvailable: boolean
  readonly passkeysUnavailableReason: string | null
}

export interface Passkey {
  readonly id: string | number
  readonly name: string
  readonly createdAt: string
  readonly lastUsedAt: string | null
  /** False if the passkey was made for another address of the site. */
  readonly usable: boolean
  /** True if the passkey is also on other devices of the user. */
  readonly synced: boolean
}

/** Result of a new factor. The first factor of a user comes with recovery codes. */
export interface FactorsAdded {
  readonly recoveryCodes?: readonly string[] | null
}
