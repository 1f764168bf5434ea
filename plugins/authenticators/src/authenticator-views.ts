import type { Translator } from '@plinth/i18n'
import type { Credentials } from '@plinth/iam'
import type { Static } from 'typebox'
import type { PasskeySite } from './passkey-site.ts'
import type { Passkeys } from './passkeys.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { authenticatorView } from './schemas.ts'
import type { OneTimePasswords } from './totp.ts'

interface ViewDependencies {
  readonly credentials: Pick<Credentials, 'signInPolicyOf'>
  readonly passkeys: Passkeys
  readonly totp: Pick<OneTimePasswords, 'find'>
  readonly recoveryCodes: Pick<RecoveryCodes, 'state'>
  readonly siteOf: () => PasskeySite
  readonly i18n: Pick<Translator, 'translate'>
  readonly now: () => number
}

/** Shows the factors of a user without secrets. */
export class AuthenticatorViews {
  readonly #parts: ViewDependencies

  constructor(parts: ViewDependencies) {
    this.#parts = parts
  }

  async of(userId: number, locale: string): Promise<Static<typeof authenticatorView>> {
    const { credentials, passkeys, totp, recoveryCodes, siteOf, i18n, now } = this.#parts
    const [rows, oneTime, codes, policy] = await Promise.all([
      passkeys.list(userId),
      totp.find(userId),
      recoveryCodes.state(userId),
      credentials.signInPolicyOf(userId),
    ])
    const site = siteOf()
    const { secondFactorFrom } = policy
    return {
      passkeys: rows.map((row) => ({
        id: row.id,
        name: row.name,
        createdAt: row.createdAt.toISOString(),
        lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
        usable: passkeys.isUsable(row),
        synced: row.backedUp,
      })),
      totp: oneTime && { since: oneTime.createdAt.toISOString() },
      recoveryCodes: codes === undefined ? null : { left: codes.left, createdAt: codes.createdAt.toISOString() },
      required: secondFactorFrom !== undefined && secondFactorFrom <= now(),
      requiredFrom: secondFactorFrom === undefined ? null : new Date(secondFactorFrom).toISOString(),
      passkeysAvailable: 'rpId' in site,
      passkeysUnavailableReason:
        'rpId' in site ? null : (i18n.translate(locale, `messages.authenticators.${site.unavailable}`) ?? null),
    }
  }
}
