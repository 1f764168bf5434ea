import { type Database, findPage, type PageWindow } from '@plinth/database'
import { assertAudience } from '../access/access-guard.ts'
import type { PermissionEpoch } from '../access/authority.ts'
import { assertOrgInScope, outOfScope, rowsInScope, usersInScope } from '../access/data-scope.ts'
import { roleName } from '../access/roles.ts'
import type { ApiTokens } from '../api-tokens/api-tokens.ts'
import type {
  Actor,
  AudienceToken,
  BearerRequest,
  Identity,
  LoginAttempt,
  PendingAccount,
  Principal,
  RowOwner,
  Session,
} from '../contract.ts'
import { businessError } from '../declarations.ts'
import { Role, User } from '../entities.ts'
import type { Login } from './login.ts'
import type { ProvenSession, Sessions } from './sessions.ts'
import type { TokenCheck } from './token-check.ts'

const batch = 500

export class IdentityService implements Identity {
  readonly #db: Database
  readonly #authority: Pick<PermissionEpoch, 'limitUserIds'>
  readonly #tokens: TokenCheck
  readonly #login: Login
  readonly #sessions: Sessions
  readonly #apiTokens: Pick<ApiTokens, 'issueFor'>

  constructor(parts: {
    readonly db: Database
    readonly authority: Pick<PermissionEpoch, 'limitUserIds'>
    readonly tokens: TokenCheck
    readonly login: Login
    readonly sessions: Sessions
    readonly apiTokens: Pick<ApiTokens, 'issueFor'>
  }) {
    this.#db = parts.db
    this.#authority = parts.authority
    this.#tokens = parts.tokens
    this.#login = parts.login
    this.#sessions = parts.sessions
    this.#apiTokens = parts.apiTokens
  }

  authenticate(token: string, bearer?: BearerRequest): Principal | Promise<Principal> {
    return this.#tokens.authenticate(token, bearer)
  }

  async authenticateFor(audience: string, token: string): Promise<Principal> {
    const principal = await this.#tokens.authenticate(token, { clientIp: '' })
    if (principal.audience !== undefined) assertAudience(principal, audience)
    else if (principal.credential === 'api-token') throw businessError('api-token-misplaced')
    return principal
  }

  issueAudienceToken(...args: Parameters<Identity['issueAudienceToken']>): Promise<AudienceToken> {
    return this.#apiTokens.issueFor(...args)
  }

  principalOf(userId: number): Promise<Principal | undefined> {
    return this.#tokens.principalOf(userId)
  }

  standingSessions(sessionIds: readonly number[]): Promise<ReadonlySet<number>> {
    return this.#tokens.standing(sessionIds)
  }

  async assertInScope(principal: Principal, userIds: readonly number[], field?: string): Promise<void> {
    const reached = await this.reachedOf(principal, userIds)
    if (userIds.every((id) => reached.has(id))) return
    throw outOfScope(field)
  }

  async reachedOf(principal: Principal, userIds: readonly number[]): Promise<ReadonlySet<number>> {
    const reached = new Set<number>()
    for await (const { found } of this.#users(userIds, usersInScope(principal)))
      for (const { id } of found) reached.add(id)
    return reached
  }

  async commonOrganisation(userIds: readonly number[]): Promise<number | null> {
    let common: number | undefined
    for await (const { ids, found } of this.#users(userIds)) {
      common ??= found[0]?.orgId ?? undefined
      if (common === undefined || found.length < ids.length || found.some(({ orgId }) => orgId !== common)) return null
    }
    return common ?? null
  }

  async findRoles(locale: string, codes?: readonly string[]) {
    const where = codes === undefined ? {} : { code: { $in: [...codes] } }
    const found = await this.#db.fork().find(Role, where, { orderBy: { id: 'asc' } })
    return found.map((role) => ({ id: role.id, code: role.code, name: roleName(role, locale) }))
  }

  /** Reads users in batches, so that a caller can stop early. */
  async *#users(userIds: readonly number[], where: object = {}) {
    const expected = [...new Set(userIds)]
    const em = this.#db.fork()
    for (let start = 0; start < expected.length; start += batch) {
      const ids = expected.slice(start, start + batch)
      const found = await em.find(User, { $and: [{ id: { $in: ids } }, where] }, { fields: ['id', 'orgId'] })
      yield { ids, found }
    }
  }

  async isInScope(principal: Principal, userId: number): Promise<boolean> {
    return (await this.#db.fork().count(User, { $and: [{ id: userId }, usersInScope(principal)] })) === 1
  }

  assertOrgInScope(principal: Principal, orgId: number | null): void {
    assertOrgInScope(principal, orgId)
  }

  rowsInScope(principal: Principal, owner: RowOwner): object {
    return rowsInScope(principal, owner)
  }

  async findUserIds(principal: Principal, where: object, window: PageWindow) {
    const found = await findPage<User>(this.#db.fork(), User, { $and: [usersInScope(principal), where] }, window)
    return { ...found, items: found.items.map(({ id }) => ({ id })) }
  }

  limitUserIds(): Promise<number> {
    return this.#authority.limitUserIds()
  }

  openSession(userId: number, attempt: LoginAttempt): Promise<Session> {
    return this.#login.withProof(userId, attempt)
  }

  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session> {
    return this.#login.withUncheckedProof(account, attempt, prove)
  }

  async proveAgain(
    token: string,
    method: string,
    attempt: LoginAttempt,
    prove: (userId: number) => Promise<void>,
  ): Promise<Session> {
    return this.#login.proveAgain(await this.#sessionOf(token), method, attempt, prove)
  }

  endSessions(userId: number, sessionIds: readonly number[], actor: Actor): Promise<number> {
    return this.#sessions.end(userId, sessionIds, actor)
  }

  sessionsOpenedBy(userId: number, method: string): Promise<readonly number[]> {
    return this.#sessions.openedBy(userId, method)
  }

  findPendingSignIn(pendingToken: string): Promise<PendingAccount> {
    return this.#login.findPending(pendingToken)
  }

  completeSignIn(...args: Parameters<Identity['completeSignIn']>): Promise<Session> {
    return this.#login.completeSignIn(...args)
  }

  setUpSecondFactor(...args: Parameters<Identity['setUpSecondFactor']>): Promise<Session> {
    return this.#login.setUpSecondFactor(...args)
  }

  /** Like `proveAgain`, with the password of the user. */
  async proveByPassword(token: string, password: string, attempt: LoginAttempt): Promise<Session> {
    return this.#login.proveByPassword(await this.#sessionOf(token), password, attempt)
  }

  /** @throws BusinessError "401" `iam.proof-required` for a token without a session, which can have no proof */
  async #sessionOf(token: string): Promise<ProvenSession> {
    const { userId, sessionId } = await this.#tokens.authenticate(token)
    if (sessionId === 0) throw businessError('proof-required', { text: 'proof-without-session', data: { methods: [] } })
    return { userId, sessionId, oldToken: token }
  }
}
