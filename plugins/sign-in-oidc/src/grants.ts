import type { Database } from '@plinth/database'
import type { Accounts, Actor } from '@plinth/iam'
import { type ClaimRule, type Claims, evaluateRules, labelOf, type RuleResult, roleChangeOf } from './claims.ts'
import { rejected } from './declarations.ts'
import { IdentityRow, Rule } from './entities.ts'
import { issuerKeyOf, type Provider } from './providers.ts'

interface GrantDependencies {
  readonly db: Database
  readonly accounts: Pick<Accounts, 'adjustGrants' | 'findByExternal'>
}

/** A login for which roles are changed. */
interface IdentityFacts {
  readonly userId: number
  readonly subject: string
  readonly claims: Claims
  /** Domain of the e-mail address that the provider has confirmed. Undefined: the known one stays. */
  readonly emailDomain: string | undefined
}

/** Gives users the roles and the organisation that the rules of a provider state. */
export class ClaimGrants {
  readonly #parts: GrantDependencies

  constructor(parts: GrantDependencies) {
    this.#parts = parts
  }

  /** Returns the rules that apply to a provider as it is configured now. */
  async rulesOf({
    id: provider,
    issuer,
    clientId,
  }: Pick<Provider, 'id' | 'issuer' | 'clientId'>): Promise<readonly ClaimRule[]> {
    const where = { provider, issuer, clientId }
    const rows = await this.#parts.db.fork().find(Rule.entity, where, { orderBy: { id: 'asc' } })
    return rows.map(({ claim, form, value, roleId = null, orgId = null }) => ({ claim, form, value, roleId, orgId }))
  }

  async evaluate(provider: Provider, claims: Claims): Promise<RuleResult> {
    return evaluateRules(await this.rulesOf(provider), claims)
  }

  /**
   * Records the sign-in of an identity, and changes roles and organisation of its user. Roles that an administrator has
   * given stay.
   *
   * @throws BusinessError "401" `sign-in-oidc.rejected` if the identity was unlinked meanwhile
   */
  async apply(
    { id: provider, issuer }: Provider,
    { userId, subject, claims, emailDomain }: IdentityFacts,
    result: RuleResult,
    actor: Actor,
  ): Promise<void> {
    const { db, accounts } = this.#parts
    const key = { issuerKey: issuerKeyOf(issuer), subject }
    const lastSignInAt = new Date(db.clock.now())
    const known = emailDomain === undefined ? {} : { emailDomain }
    const facts = { userId, provider, label: labelOf(claims, subject), lastSignInAt, ...known }
    await db.transactional(async (em) => {
      // `adjustGrants` takes the lock of all account changes first, so the rows below cannot change meanwhile.
      const change = async (held: readonly number[]) => {
        const linked = await accounts.findByExternal({ provider: key.issuerKey, subject })
        if (linked?.id !== userId) throw rejected('identity-unlinked')
        const rows = await db.fork().find(IdentityRow, { userId })
        const own = rows.find(({ issuerKey, subject: other }) => issuerKey === key.issuerKey && other === subject)
        const elsewhere = new Set(rows.filter((row) => row !== own).flatMap(({ grantedRoleIds }) => grantedRoleIds))
        const { granted, ...roles } = roleChangeOf(result, held, own?.grantedRoleIds ?? [], elsewhere)
        const values = { ...facts, grantedRoleIds: [...granted] }
        if ((await em.nativeUpdate(IdentityRow, key, values)) === 0)
          em.create(IdentityRow, { id: db.newId(), issuer, ...key, ...values, createdAt: lastSignInAt })
        return { ...roles, orgId: result.orgId }
      }
      await accounts.adjustGrants(userId, change, actor)
    })
  }
}
