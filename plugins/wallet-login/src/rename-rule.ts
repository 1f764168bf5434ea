import type { RenameGuard } from '@plinth/iam'
import { isAddressShaped } from '@plinth/web3'
import { refusal } from './failures.ts'
import { provider } from './wallet-login.ts'

/**
 * Nobody is renamed to an address that is not bound to the account (document 3, "Login", rule 3). What looks like an address
 * counts, in any case of letters and with a wrong checksum too: people do not check checksums, and names are compared
 * without case.
 */
export const renameRule: RenameGuard = {
  async assertUsernameAllowed(userId, username, identities) {
    if (!isAddressShaped(username)) return
    const isOwn = await identities.isBound(userId, provider, username.toLowerCase())
    if (!isOwn) throw refusal('name-not-bound', { data: { field: 'username' } })
  },
}
