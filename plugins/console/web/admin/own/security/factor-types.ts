import type { DataOf } from '@plinth/client'

/** Factors of the signed-in user. `requiredFrom`: time from which a role requires a second factor. */
export type Factors = DataOf<'getAuthAuthenticators'>
/** `usable` is false if the passkey was made for another address of the site. */
export type Passkey = Factors['passkeys'][number]
/** Result of a new factor. The first factor of a user comes with recovery codes. */
export type FactorsAdded = DataOf<'postAuthPasskeys'>
