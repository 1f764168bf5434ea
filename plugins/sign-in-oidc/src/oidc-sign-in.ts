import type { HttpReply, HttpRequest } from '@plinth/http'
import type { Accounts, Actor, ExternalIdentity, Identity, LoginAttempt, Principal, Session } from '@plinth/iam'
import { isBusinessError } from '@plinth/kernel'
import { confirmedDomainOf, isDomainAllowed, type RuleResult, suggestedUsername } from './claims.ts'
import { businessError, methodName, rejected } from './declarations.ts'
import type { ClaimGrants } from './grants.ts'
import type { OidcLimits } from './limits.ts'
import type { LinkedIdentities } from './linked-identities.ts'
import { type ProviderLogin, type ProviderLogins, RejectedResponseError } from './provider-login.ts'
import { issuerKeyOf, type Provider, type Providers } from './providers.ts'
import { safeReturnPath } from './return-path.ts'
import type { SignInRecord, SignIns } from './sign-ins.ts'
import type { Purpose, Transactions } from './transactions.ts'

const proofAttempt = 'oidc-proof'

/** Names this plugin in the audit. */
export const actorName = 'sign-in-oidc'

interface SignInDependencies {
  readonly providers: Providers
  readonly transactions: Transactions
  readonly logins: ProviderLogins
  readonly limits: OidcLimits
  readonly grants: ClaimGrants
  readonly signIns: SignIns
  readonly linked: LinkedIdentities
  readonly accounts: Pick<Accounts, 'check' | 'findByExternal' | 'resolveExternal'>
  readonly identity: Pick<Identity, 'openProvenSession' | 'proveAgain' | 'authenticate' | 'endSessions'>
}

/** A request and its response. */
export interface Exchange {
  readonly request: Pick<HttpRequest, 'clientIp' | 'traceId' | 'headers' | 'contextPath' | 'isHttps'>
  readonly reply: HttpReply
}

/** A callback that is valid, or the reason why it is not. */
type Callback = { readonly login: ProviderLogin; readonly returnTo: string | null } | { readonly reason: string }

/** Sign-in, linking and fresh proof with a provider. */
export class OidcSignIn {
  readonly #parts: SignInDependencies

  constructor(parts: SignInDependencies) {
    this.#parts = parts
  }

  /**
   * Begins a transaction. Returns the address at the provider.
   *
   * @throws BusinessError "404" `sign-in-oidc.provider-unknown`, "503" `sign-in-oidc.provider-unavailable`, and the errors
   *   of `OidcLimits.take`
   */
  async start(
    providerId: string,
    purpose: Purpose,
    { request, reply }: Exchange,
    { returnTo, sessionId }: { readonly returnTo?: string | undefined; readonly sessionId?: number } = {},
  ): Promise<string> {
    const { providers, transactions, logins, limits } = this.#parts
    await limits.take('start', request.clientIp)
    const provider = providers.require(providerId)
    const begun = { purpose, sessionId, returnTo: safeReturnPath(returnTo) }
    return logins.urlFor(provider, purpose, await transactions.begin(provider, begun, request, reply))
  }

  /**
   * Completes a sign-in.
   *
   * @throws BusinessError "401" `sign-in-oidc.rejected` for each response that is not valid; after a valid response "403"
   *   `sign-in-oidc.account-missing`, `sign-in-oidc.domain-not-allowed`; "503" `sign-in-oidc.provider-unavailable`, which is
   *   no failed attempt; the errors of `Identity.openProvenSession`
   */
  async complete(
    providerId: string,
    parameters: string,
    exchange: Exchange,
  ): Promise<{ readonly session: Session; readonly returnTo: string | null }> {
    const { providers, accounts, identity, grants } = this.#parts
    await this.#parts.limits.take('callback', exchange.request.clientIp)
    const provider = providers.require(providerId)
    const callback = await this.#callback(provider, 'sign-in', parameters, exchange)
    const attempt = attemptOf(exchange, provider, methodName)
    if ('reason' in callback) {
      const session = await identity.openProvenSession(null, attempt, () => Promise.reject(rejected(callback.reason)))
      return { session, returnTo: null }
    }
    const { login, returnTo } = callback
    const external = { provider: issuerKeyOf(provider.issuer), subject: login.subject }
    const known = await accounts.findByExternal(external)
    const result = await grants.evaluate(provider, login.claims)
    let userId = 0
    const prove = async () => {
      userId = await this.#accountOf(provider, login, result, known?.id, actorOf(exchange))
      return userId
    }
    const facts = { isProof: login.isFresh, ...(login.hasSecondFactor ? { secondFactor: methodName } : {}) }
    try {
      const session = await identity.openProvenSession(known?.id ?? null, { ...attempt, ...facts }, prove)
      const { sessionId } = await identity.authenticate(session.accessToken)
      // The record stays while the rules of the roles can change the end of the session.
      const expiresAt = new Date(session.maxExpiresAt)
      await this.#record({ provider, login, userId, sessionId, expiresAt }, exchange)
      return { session, returnTo: safeReturnPath(returnTo) }
    } catch (error) {
      if (isBusinessError(error) && error.reason === 'iam.second-factor-required')
        await this.#record({ provider, login, userId, sessionId: null }, exchange)
      throw error
    }
  }

  /**
   * Records a sign-in. Ends it if the identity was unlinked before the record was stored, because the removal of the link
   * only ends recorded sign-ins.
   *
   * @throws BusinessError "401" `sign-in-oidc.rejected`
   */
  async #record(record: SignInRecord, exchange: Exchange): Promise<void> {
    const { signIns, accounts, identity } = this.#parts
    await signIns.record(record)
    const { provider, login, userId, sessionId } = record
    const [issuerKey, subject] = [issuerKeyOf(provider.issuer), login.subject]
    if ((await accounts.findByExternal({ provider: issuerKey, subject }))?.id === userId) return
    await identity.endSessions(userId, sessionId === null ? [] : [sessionId], actorOf(exchange))
    await signIns.remove({ userId, issuerKey, subject })
    throw rejected('identity-unlinked')
  }

  /**
   * Links the identity of a provider to the signed-in user.
   *
   * @throws BusinessError "401" `sign-in-oidc.rejected`, "403" `sign-in-oidc.domain-not-allowed`, "409"
   *   `iam.external-identity-taken`, "503" `sign-in-oidc.provider-unavailable`
   */
  async link(providerId: string, parameters: string, exchange: Exchange, principal: Principal, actor: Actor) {
    const provider = await this.#signedInProvider(providerId, exchange)
    const { sessionId } = principal
    const callback = await this.#callback(provider, 'link', parameters, exchange, sessionId)
    if ('reason' in callback) throw rejected(callback.reason)
    assertDomainAllowed(provider, callback.login)
    const row = await this.#parts.linked.link(provider, callback.login, principal.userId, actor)
    return { provider: provider.id, subjectShown: row.label, title: provider.title }
  }

  /**
   * Proves the user of a session again. The user must have entered a password or used a factor at the provider meanwhile.
   *
   * @param token access token of the session
   * @throws BusinessError "401" `sign-in-oidc.rejected`, "503" `sign-in-oidc.provider-unavailable`, and the errors of
   *   `Identity.proveAgain`
   */
  async prove(
    providerId: string,
    parameters: string,
    exchange: Exchange,
    { sessionId, token }: { readonly sessionId: number; readonly token: string },
  ): Promise<Session> {
    const { accounts, identity } = this.#parts
    const provider = await this.#signedInProvider(providerId, exchange)
    const callback = await this.#callback(provider, 'proof', parameters, exchange, sessionId)
    return identity.proveAgain(token, methodName, attemptOf(exchange, provider, proofAttempt), async (userId) => {
      if ('reason' in callback) throw rejected(callback.reason)
      const { subject, isFresh } = callback.login
      if (!isFresh) throw rejected('login-too-old')
      const bound = await accounts.findByExternal({ provider: issuerKeyOf(provider.issuer), subject })
      if (bound?.id !== userId) throw rejected('identity-of-another-user')
    })
  }

  async #signedInProvider(providerId: string, { request }: Exchange): Promise<Provider> {
    await this.#parts.limits.take('callback', request.clientIp)
    return this.#parts.providers.require(providerId)
  }

  /** Takes the transaction of a callback and exchanges its code. */
  async #callback(
    provider: Provider,
    purpose: Purpose,
    parameters: string,
    { request, reply }: Exchange,
    sessionId?: number,
  ): Promise<Callback> {
    const { transactions, logins, grants } = this.#parts
    const query = parameters.replace(/^\?/, '')
    const expected = { provider, purpose, sessionId }
    const transaction = await transactions.take(new URLSearchParams(query).get('state'), expected, request, reply)
    if (typeof transaction === 'string') return { reason: transaction }
    const rules = purpose === 'sign-in' ? await grants.rulesOf(provider) : []
    const { allowedDomains, exclusiveDomains } = provider
    const forDomain = purpose !== 'proof' && allowedDomains.length + exclusiveDomains.length > 0 ? ['email'] : []
    const neededClaims = [...rules.map(({ claim }) => claim), ...forDomain]
    try {
      const login = await logins.exchange(provider, transaction, query, { purpose, neededClaims })
      return { login, returnTo: transaction.returnTo }
    } catch (error) {
      if (error instanceof RejectedResponseError) return { reason: error.reason }
      throw error
    }
  }

  /** Returns the user of a valid login, which may be created, with the roles that the rules state. */
  async #accountOf(
    provider: Provider,
    login: ProviderLogin,
    result: RuleResult,
    known: number | undefined,
    actor: Actor,
  ): Promise<number> {
    const { missingClaim, createAccounts } = provider
    const { subject, claims, email } = login
    assertDomainAllowed(provider, login)
    if (missingClaim === 'reject' && result.silentClaims.length > 0) throw rejected('claim-missing')
    if (known === undefined && !createAccounts) throw businessError('account-missing')
    const userId = known ?? (await this.#createAccount(provider, login, actor))
    const facts = { userId, subject, claims, emailDomain: confirmedDomainOf(email) }
    await this.#parts.grants.apply(provider, facts, result, actor)
    return userId
  }

  /** The name is only a suggestion. An account with the same name or e-mail address is never used. */
  async #createAccount({ id, issuer }: Provider, { subject, claims }: ProviderLogin, actor: Actor): Promise<number> {
    const { accounts } = this.#parts
    const suggested = suggestedUsername(claims)
    const isUsable = suggested !== undefined && accounts.check({ username: suggested }).length === 0
    const external: ExternalIdentity = { provider: issuerKeyOf(issuer), chainType: 'oidc', subject }
    const name = {
      username: isUsable ? suggested : `${id}_user`,
      fallbackPrefix: isUsable ? suggested.slice(0, 50) : id,
    }
    return (await accounts.resolveExternal(external, name, actor)).account.id
  }
}

/** An identity that may not sign in must not be linked either. It would count as a way to sign in. */
function assertDomainAllowed({ issuer, allowedDomains }: Provider, { email, hostedDomain }: ProviderLogin): void {
  if (!isDomainAllowed(allowedDomains, { issuer, email, hostedDomain })) throw businessError('domain-not-allowed')
}

const attemptOf = ({ request, reply }: Exchange, { id }: Provider, method: string): LoginAttempt => ({
  clientIp: request.clientIp,
  traceId: request.traceId,
  userAgent: request.headers['user-agent'] ?? '',
  method,
  identifier: id,
  shownIdentifier: id,
  setHeader: (name, value) => void reply.header(name, value),
})

const actorOf = ({ request }: Exchange): Actor => ({
  name: actorName,
  clientIp: request.clientIp,
  traceId: request.traceId,
  userAgent: request.headers['user-agent'] ?? '',
})
