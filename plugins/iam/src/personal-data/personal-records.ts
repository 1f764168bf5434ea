import type { SqlEntityManager } from '@mikro-orm/sql'
import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import { type Clock, type Kernel, type PersonalDataSubject, type PersonalTable, personalData } from '@plinth/kernel'
import type { PermissionEpoch } from '../access/authority.ts'
import { accessibleUsersCondition } from '../access/data-scope.ts'
import type { UserChangeGuard } from '../access/role-grants.ts'
import { incrementRowVersion, removeAccount } from '../accounts/users.ts'
import { revokeApiTokensOf } from '../api-tokens/api-tokens.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { type Actor, type PersonalRecords, type PersonalRowCount, userErased } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { User } from '../entities.ts'
import type { Sessions } from '../sessions/sessions.ts'

interface PersonalRecordsDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly kernel: Pick<Kernel, 'contributions'>
  readonly authority: PermissionEpoch
  readonly rules: UserChangeGuard
  readonly sessions: Sessions
  readonly audit: AuditTrail
  readonly events: Events | undefined
  readonly redact: (text: string) => string
}

/**
 * Target type of the audit record of an erasure. It differs from `user`, so that later exports do not treat this record
 * as data of the user.
 */
const erasedUser = 'erased-user'

/** Implements the service `personalRecords`: export and erasure of a user in the tables of all plugins. */
export class PersonalRecordService implements PersonalRecords {
  readonly #parts: PersonalRecordsDependencies

  constructor(parts: PersonalRecordsDependencies) {
    this.#parts = parts
  }

  async summary(userId: number, actor: Actor): Promise<readonly PersonalRowCount[]> {
    return this.#counted(await this.#find(this.#parts.db.fork(), userId, actor))
  }

  async export(userId: number, actor: Actor): Promise<AsyncIterable<string>> {
    const { db, audit } = this.#parts
    const person = await db.transactional(async (em) => {
      const found = await this.#find(em, userId, actor)
      await audit.record(actor, 'user.export', userId, {})
      return found
    })
    return this.#document(person)
  }

  async erase(
    userId: number,
    { actor, confirmation, signal }: Parameters<PersonalRecords['erase']>[1],
  ): Promise<readonly PersonalRowCount[]> {
    const person = await this.#begin(userId, actor, confirmation)
    const counted = await this.#counted(person)
    for (const [, table] of this.#tables()) {
      signal.throwIfAborted()
      await table.erase(person, signal)
    }
    await this.#finish(person, actor, counted)
    return counted
  }

  /**
   * Returns the tables of all plugins, in reverse order of the setup of the plugins. A plugin is set up after the
   * plugins that it refers to, so its rows must be erased first.
   */
  #tables(): readonly (readonly [plugin: string, PersonalTable])[] {
    const plugins = [...this.#parts.kernel.contributions(personalData)].reverse()
    return plugins.flatMap(([plugin, tables]) => tables.map((table) => [plugin, table] as const))
  }

  async #counted(person: PersonalDataSubject): Promise<readonly PersonalRowCount[]> {
    const counted: PersonalRowCount[] = []
    for (const [plugin, declared] of this.#tables()) {
      const { table, title, columns, erasure } = declared
      const rows = await declared.count(person)
      const reason = declared.erasure === 'removed' ? undefined : declared.reason
      const overwritten = declared.erasure === 'anonymised' ? declared.overwritten : []
      counted.push({ plugin, table, title, columns, erasure, overwritten, reason, rows })
    }
    return counted
  }

  /** Only an actor that is not a user, such as a command, may pass the id of a deleted user. */
  async #find(em: SqlEntityManager, userId: number, actor: Actor): Promise<PersonalDataSubject> {
    const user = await em.findOne(User, { $and: [{ id: userId }, accessibleUsersCondition(actor)] })
    if (user === null) {
      if ('principal' in actor) throw businessError('user-unknown')
      return { userId }
    }
    await this.#parts.rules.assertMayActOn(em, userId, actor)
    return { userId, username: user.username }
  }

  /** Checks the rules, disables the account and ends its sessions and API tokens, so that the user cannot create new rows. */
  #begin(userId: number, actor: Actor, confirmation: string | undefined): Promise<PersonalDataSubject> {
    const { db, clock, authority, rules, sessions, audit } = this.#parts
    if ('principal' in actor && actor.principal.userId === userId) throw businessError('own-erasure')
    return db.transactional(async (em) => {
      await authority.lock()
      const person = await this.#find(em, userId, actor)
      if (confirmation !== undefined && confirmation !== person.username)
        throw businessError('erasure-unconfirmed', { data: { field: 'username' } })
      const user = await em.findOne(User, userId)
      if (user !== null) {
        await rules.assertAdministratorLeft(em, userId)
        user.enabled = false
        incrementRowVersion(user, clock)
        await em.flush()
      }
      await sessions.endAll(userId)
      await revokeApiTokensOf({ db, clock }, userId)
      await authority.changeOf(userId)
      await audit.record(actor, 'user.erase', userId, { phase: 'begun' }, erasedUser)
      return person
    })
  }

  #finish({ userId }: PersonalDataSubject, actor: Actor, counted: readonly PersonalRowCount[]): Promise<void> {
    const { db, authority, rules, audit, events } = this.#parts
    const sumOf = (erasure: PersonalRowCount['erasure']) =>
      counted.filter((one) => one.erasure === erasure).reduce((sum, { rows }) => sum + rows, 0)
    return db.transactional(async (em) => {
      await authority.lock()
      if ((await em.count(User, { id: userId })) > 0) {
        await rules.assertAdministratorLeft(em, userId)
        await removeAccount(em, userId, this.#parts)
      }
      const rows = { removed: sumOf('removed'), anonymised: sumOf('anonymised'), kept: sumOf('kept') }
      await audit.record(actor, 'user.erase', userId, { phase: 'finished', ...rows }, erasedUser)
      await events?.publish(userErased, { userId }, { key: `user:${userId}` })
    })
  }

  /** Yields the export as JSON text, one row at a time. Configured secrets are masked. */
  async *#document(person: PersonalDataSubject): AsyncGenerator<string> {
    const { clock, redact } = this.#parts
    const about = { userId: person.userId, exportedAt: new Date(clock.now()).toISOString() }
    yield `${JSON.stringify(about).slice(0, -1)},"tables":[`
    let separator = '\n'
    for (const [plugin, { table, title, columns, read }] of this.#tables()) {
      yield `${separator}${JSON.stringify({ plugin, table, title, columns }).slice(0, -1)},"rows":[`
      let next = '\n'
      for await (const row of read(person)) {
        yield `${next}${redact(JSON.stringify(row))}`
        next = ',\n'
      }
      yield ']}'
      separator = ',\n'
    }
    yield ']}\n'
  }
}
