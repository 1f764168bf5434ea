import type { WebhookRowOwner } from '@plinth/events'
import type { Identity, Principal } from '@plinth/iam'
import type { Endpoint } from './entities.ts'

type Users = Pick<Endpoint, 'ownerId' | 'authorizedBy'>

/**
 * Current rights of the users behind endpoints. An endpoint receives only what its owner and the user who last chose its
 * URL may both see, so that nobody learns more by an endpoint of another user. Create one per event or attempt.
 */
export class EndpointRights {
  readonly #identity: Pick<Identity, 'principalOf' | 'isInScope'>
  readonly #principals = new Map<number, Promise<Principal | undefined>>()

  constructor(identity: Pick<Identity, 'principalOf' | 'isInScope'>) {
    this.#identity = identity
  }

  /** Returns false if one of the users is disabled or deleted. */
  async exist({ ownerId, authorizedBy }: Users): Promise<boolean> {
    return (await this.#principalOf(ownerId)) !== undefined && (await this.#principalOf(authorizedBy)) !== undefined
  }

  /** @param permission permission that the users need, in addition to the data scope; `undefined`: none */
  async allow(
    { ownerId, authorizedBy }: Users,
    permission: string | undefined,
    row: WebhookRowOwner,
  ): Promise<boolean> {
    for (const userId of new Set([ownerId, authorizedBy])) {
      const principal = await this.#principalOf(userId)
      if (principal === undefined || (permission !== undefined && !principal.can(permission))) return false
      if (!(await this.#includes(principal, row))) return false
    }
    return true
  }

  async #includes(principal: Principal, { userId, orgId }: WebhookRowOwner): Promise<boolean> {
    if (principal.dataScope === 'all') return true
    if (orgId != null && principal.dataScope === 'org' && principal.orgId === orgId) return true
    return userId != null && this.#identity.isInScope(principal, userId)
  }

  #principalOf(userId: number): Promise<Principal | undefined> {
    const known = this.#principals.get(userId) ?? this.#identity.principalOf(userId)
    this.#principals.set(userId, known)
    return known
  }
}
