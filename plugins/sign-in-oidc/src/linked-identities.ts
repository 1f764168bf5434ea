import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Accounts, Actor } from '@plinth/iam'
import { type Kernel, writeAuditEntry } from '@plinth/kernel'
import { confirmedDomainOf, labelOf } from './claims.ts'
import { businessError } from './declarations.ts'
import { IdentityRow } from './entities.ts'
import type { ExclusiveDomains } from './exclusive-domains.ts'
import { identityChanged } from './notices.ts'
import type { ProviderLogin } from './provider-login.ts'
import { issuerKeyOf, type Provider } from './providers.ts'
import type { SignIns } from './sign-ins.ts'

interface IdentityDependencies {
  readonly db: Database
  readonly kernel: Pick<Kernel, 'contributions'>
  /** Undefined in a product without events. Then owners are not told of changes. */
  readonly events: Pick<Events, 'publish'> | undefined
  readonly accounts: Pick<Accounts, 'bindExternal' | 'unbindExternal' | 'adjustGrants'>
  readonly signIns: Pick<SignIns, 'end'>
  readonly exclusive: Pick<ExclusiveDomains, 'requiredFor'>
}

/** Identities of providers that are linked to users. */
export class LinkedIdentities {
  readonly #parts: IdentityDependencies

  constructor(parts: IdentityDependencies) {
    this.#parts = parts
  }

  /** Returns the linked identities of a user, newest first. */
  ofUser(userId: number): Promise<IdentityRow[]> {
    return this.#parts.db.fork().find(IdentityRow, { userId }, { orderBy: { id: 'desc' } })
  }

  /** @throws BusinessError "409" `iam.external-identity-taken` if another user has the identity */
  async link(
    { id: provider, issuer }: Provider,
    { subject, claims, email }: Pick<ProviderLogin, 'subject' | 'claims' | 'email'>,
    userId: number,
    actor: Actor,
  ): Promise<IdentityRow> {
    const { db, accounts } = this.#parts
    const key = { issuerKey: issuerKeyOf(issuer), subject }
    const label = labelOf(claims, subject)
    const emailDomain = confirmedDomainOf(email) ?? null
    return db.transactional(async (em) => {
      await accounts.bindExternal(userId, { provider: key.issuerKey, chainType: 'oidc', subject }, actor)
      const known = await em.findOne(IdentityRow, key)
      if (known?.userId === userId) return Object.assign(known, { provider, label, emailDomain })
      // The row of a user who was deleted may be left. Its roles are not those of this user.
      if (known !== null) await em.nativeDelete(IdentityRow, { id: known.id })
      const createdAt = new Date(db.clock.now())
      const facts = { userId, provider, issuer, ...key, label, emailDomain, createdAt }
      const row = em.create(IdentityRow, { id: db.newId(), ...facts, grantedRoleIds: [], lastSignInAt: null })
      await em.flush()
      await this.#record(actor, 'link', row)
      return row
    })
  }

  /**
   * Removes the link of an identity. Its user loses the roles that rules have granted through it, and the sessions that
   * began with it end.
   *
   * @param where further condition for the row: its user, or the data scope of the operator
   * @param exceptSession session of the caller, which stays
   * @throws BusinessError "404" `sign-in-oidc.identity-unknown`, "409" `iam.last-sign-in-way`, "403"
   *   `iam.beyond-own-authority`
   */
  async unlink(id: number, where: object, actor: Actor, exceptSession?: number): Promise<void> {
    const { db, accounts, signIns } = this.#parts
    const row = await db.fork().findOne(IdentityRow, { $and: [{ id }, where] })
    if (row === null) throw businessError('identity-unknown')
    const { userId, issuer, issuerKey, subject, grantedRoleIds } = row
    await db.transactional(async (em) => {
      await accounts.unbindExternal(userId, { provider: issuerKey, subject }, actor)
      if (grantedRoleIds.length > 0) {
        const others = (await em.find(IdentityRow, { userId, id: { $ne: id } })).flatMap((one) => one.grantedRoleIds)
        const remove = grantedRoleIds.filter((roleId) => !others.includes(roleId))
        // The operator may lack permissions of the roles that go away.
        const { clientIp, traceId, userAgent } = actor
        await accounts.adjustGrants(userId, async () => ({ add: [], remove }), {
          name: 'sign-in-oidc',
          clientIp,
          traceId,
          userAgent,
        })
      }
      await em.nativeDelete(IdentityRow, { id })
      await this.#record(actor, 'unlink', row)
    })
    await signIns.end(issuer, { sid: undefined, subject }, actor, exceptSession)
  }

  /**
   * Removes the link of an identity for its own user. A user who must sign in with the provider cannot leave it.
   *
   * @throws BusinessError "409" `sign-in-oidc.identity-required`, and the errors of `unlink`
   */
  async unlinkOwn(id: number, userId: number, actor: Actor, session: number): Promise<void> {
    const row = (await this.ofUser(userId)).find((one) => one.id === id)
    const required = (await this.#parts.exclusive.requiredFor(userId)).find(
      ({ issuer }) => issuerKeyOf(issuer) === row?.issuerKey,
    )
    if (required !== undefined) throw businessError('identity-required', { params: { title: required.title } })
    await this.unlink(id, { userId }, actor, session)
  }

  /** Removes the facts of a user who was deleted. */
  async forget(userId: number): Promise<void> {
    await this.#parts.db.fork().nativeDelete(IdentityRow, { userId })
  }

  /** Records a change in the audit, and tells the owner. */
  async #record(actor: Actor, verb: 'link' | 'unlink', row: IdentityRow): Promise<void> {
    const { kernel, events } = this.#parts
    const { id, userId, provider, issuer, label } = row
    const who = 'principal' in actor ? { userId: actor.principal.userId } : { name: actor.name }
    const { clientIp, traceId } = actor
    const entry = { actor: who, action: `oidc-identity.${verb}`, subject: id, clientIp, traceId }
    await writeAuditEntry(kernel, { ...entry, summary: { userId, provider, issuer } })
    await events?.publish(identityChanged, { kind: `${verb}ed`, userId, label }, { key: `user:${userId}` })
  }
}
