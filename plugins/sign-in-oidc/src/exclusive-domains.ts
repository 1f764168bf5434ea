import type { Database } from '@plinth/database'
import type { Accounts, Identity, LoginGuard } from '@plinth/iam'
import { domainOf } from './claims.ts'
import { businessError, methodName } from './declarations.ts'
import { IdentityRow } from './entities.ts'
import { issuerKeyOf, type Provider, type Providers } from './providers.ts'

interface ExclusiveDependencies {
  readonly db: Pick<Database, 'fork'>
  readonly providers: Pick<Providers, 'enabled' | 'find'>
  readonly accounts: Pick<Accounts, 'find' | 'hasExternal'>
  readonly identity: Pick<Identity, 'principalOf'>
}

/** Decides which users must sign in with a certain provider (`exclusiveDomains`). */
export class ExclusiveDomains {
  readonly #parts: ExclusiveDependencies

  constructor(parts: ExclusiveDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the providers with which a user must sign in. Each of them is enough. A user must if the user is linked to the
   * provider, and the address of the account, or the one that the provider has confirmed, is in a domain of it. Super
   * administrators never must, so that they can sign in while the provider is down.
   */
  async requiredFor(userId: number): Promise<readonly Provider[]> {
    const { db, providers, accounts, identity } = this.#parts
    const exclusive = providers.enabled.filter(({ exclusiveDomains }) => exclusiveDomains.length > 0)
    if (exclusive.length === 0) return []
    const address = (await accounts.find(userId))?.email ?? ''
    const rows = await db.fork().find(IdentityRow, { userId })
    const found: Provider[] = []
    for (const provider of exclusive) {
      const issuerKey = issuerKeyOf(provider.issuer)
      const confirmed = rows.filter((row) => row.issuerKey === issuerKey).map(({ emailDomain }) => emailDomain)
      const isExclusive = [domainOf(address), ...confirmed].some(
        (domain) => domain != null && provider.exclusiveDomains.includes(domain),
      )
      if (isExclusive && (await accounts.hasExternal(userId, issuerKey))) found.push(provider)
    }
    if (found.length === 0 || (await identity.principalOf(userId))?.isSuperAdmin) return []
    return found
  }

  /** Rejects all other ways to sign in, other providers included. */
  readonly guard: LoginGuard = {
    beforeAttempt: () => undefined,
    beforeSession: async ({ method, identifier, userId }) => {
      const required = await this.requiredFor(userId)
      const used = method === methodName ? this.#parts.providers.find(identifier)?.issuer : undefined
      const [first] = required
      if (first === undefined || required.some(({ issuer }) => issuer === used)) return
      throw businessError('provider-required', { params: { title: first.title } })
    },
  }
}
