import type { Database } from '@plinth/database'
import { assertOrgInScope, rowsInScope, usersInScope } from '../access/data-scope.ts'
import type { Identity, LoginAttempt, Principal, Session } from '../contract.ts'
import { User } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { Parts } from '../parts.ts'
import type { Login } from './login.ts'
import type { TokenCheck } from './token-check.ts'

/** Users that are looked up in one query. */
const batch = 500

/** The service `identity`. */
export class IdentityService implements Identity {
  readonly #db: Database
  readonly #tokens: TokenCheck
  readonly #login: Login

  constructor({ db, tokens, login }: Pick<Parts, 'db' | 'tokens' | 'login'>) {
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
    const wanted = [...new Set(userIds)]
    const em = this.#db.fork()
    for (let start = 0; start < wanted.length; start += batch) {
      const ids = wanted.slice(start, start + batch)
      const found = await em.count(User, { $and: [{ id: { $in: ids } }, usersInScope(principal)] })
      if (found !== ids.length) throw refusal('out-of-scope', field === undefined ? {} : { data: { field } })
    }
  }

  async isInScope(principal: Principal, userId: number): Promise<boolean> {
    return (await this.#db.fork().count(User, { $and: [{ id: userId }, usersInScope(principal)] })) === 1
  }

  assertOrgInScope(principal: Principal, orgId: number | null): void {
    assertOrgInScope(principal, orgId)
  }

  rowsInScope(principal: Principal, column: string): object {
    return rowsInScope(principal, column)
  }

  openSession(userId: number, attempt: LoginAttempt): Promise<Session> {
    return this.#login.withProof(userId, attempt)
  }

  openProvenSession(account: number | null, attempt: LoginAttempt, prove: () => Promise<number>): Promise<Session> {
    return this.#login.withUncheckedProof(account, attempt, prove)
  }
}
