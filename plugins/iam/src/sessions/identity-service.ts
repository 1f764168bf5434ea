import type { Database } from '@plinth/database'
import { assertOrgInScope, rowsInScope, usersInScope } from '../access/data-scope.ts'
import type { Identity, LoginAttempt, Principal, RowOwner, Session } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { User } from '../entities.ts'
import type { Login } from './login.ts'
import type { TokenCheck } from './token-check.ts'

const batch = 500

export class IdentityService implements Identity {
  readonly #db: Database
  readonly #tokens: TokenCheck
  readonly #login: Login

  constructor({ db, tokens, login }: { readonly db: Database; readonly tokens: TokenCheck; readonly login: Login }) {
    this.#db = db
    this.#tokens = tokens
    this.#login = login
  }

  authenticate(token: string): Principal | Promise<Principal> {
    return this.#tokens.authenticate(token)
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
    throw businessError('out-of-scope', field === undefined ? {} : { data: { field } })
  }

  async reachedOf(principal: Principal, userIds: readonly number[]): Promise<ReadonlySet<number>> {
    return new Set((await this.#users(userIds, usersInScope(principal))).map(({ id }) => id))
  }

  async commonOrganisation(userIds: readonly number[]): Promise<number | null> {
    const expected = new Set(userIds)
    const found = await this.#users([...expected])
    const organisations = new Set(found.map(({ orgId }) => orgId ?? null))
    const [only = null] = organisations
    return found.length === expected.size && organisations.size === 1 ? only : null
  }

  async #users(userIds: readonly number[], where: object = {}) {
    const expected = [...new Set(userIds)]
    const em = this.#db.fork()
    const found: Pick<User, 'id' | 'orgId'>[] = []
    for (let start = 0; start < expected.length; start += batch) {
      const among = { id: { $in: expected.slice(start, start + batch) } }
      found.push(...(await em.find(User, { $and: [among, where] }, { fields: ['id', 'orgId'] })))
    }
    return found
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

  openSession(userId: number, attempt: LoginAttempt): Promise<Session> {
    return this.#login.withProof(userId, attempt)
  }

  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session> {
    return this.#login.withUncheckedProof(account, attempt, prove)
  }
}
