import { raw } from '@mikro-orm/core'
import type { SqlEntityManager } from '@mikro-orm/sql'
import { countRows, type Database, type RowCount } from '@plinth/database'
import { bilingual, type Clock, localize } from '@plinth/kernel'
import { incrementRowVersion } from '../accounts/users.ts'
import type { AuditTrail } from '../audit/audit.ts'
import { type Actor, type DataScope, superAdminRole } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { Role, RolePermission, UserRole } from '../entities.ts'
import type { ProofMethod } from '../proof/contract.ts'
import type { PermissionEpoch } from './authority.ts'
import type { PermissionCatalogue } from './permission-catalogue.ts'
import {
  assertHasAllGrantsOf,
  narrowerScope,
  type RoleGrants,
  resolveGrants,
  type UserChangeGuard,
} from './role-grants.ts'
import { type SignInPolicy, signInPolicyOf, strictestPolicy } from './sign-in-policy.ts'

interface Holders {
  readonly condition: object
  readonly count: RowCount
}

export async function findRoleHolders(db: Database, roleId: number): Promise<Holders> {
  const holders = { table: 'iam_user_role', where: 'role_id = ?', parameters: [roleId], orderBy: 'user_id' }
  const count = await countRows(db, holders)
  // If few users have the role, the database reads these users first (`in`). If many users have the role, the database
  // checks each user in the order of the list (`exists`) and soon finds enough users for a page.
  const held = (alias: string) =>
    count.isCapped
      ? `exists (select 1 from iam_user_role held where held.user_id = ${alias}.id and held.role_id = ?)`
      : `${alias}.id in (select held.user_id from iam_user_role held where held.role_id = ?)`
  return { condition: { [raw(held, [roleId])]: [] }, count }
}

interface RoleContent {
  readonly name: string
  readonly description: string | null
  readonly dataScope: DataScope
  readonly permissions: readonly string[]
}

interface RoleDependencies {
  readonly db: Database
  readonly clock: Clock
  readonly authority: PermissionEpoch
  readonly grants: RoleGrants
  readonly rules: UserChangeGuard
  readonly catalogue: PermissionCatalogue
  readonly audit: AuditTrail
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

/** Rules of a role for sign-ins and sessions, times in milliseconds. Null: no rule. */
export interface RoleSignInPolicy {
  readonly secondFactorFrom: Date | null
  readonly sessionLifetime: number | null
  readonly sessionIdleTimeout: number | null
}

/** Creates, changes and deletes roles. Every change runs under the lock of `PermissionEpoch`. */
export class Roles {
  readonly #parts: RoleDependencies

  constructor(parts: RoleDependencies) {
    this.#parts = parts
  }

  /**
   * The role has the rules for sign-ins of the actor, unless the actor may change such rules. Otherwise operators could
   * escape their rules with a copy of their role.
   *
   * @throws BusinessError "409" `iam.role-code-taken`, "400" `iam.permission-unknown`, "403" `iam.beyond-own-authority`
   *   if the role would grant more than the actor has
   */
  create(code: string, content: RoleContent, actor: Actor): Promise<Role> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      if ((await em.count(Role, { code })) > 0) throw businessError('role-code-taken', { data: { field: 'code' } })
      this.#assertMayGive(content, content.permissions, actor)
      const now = new Date(this.#parts.clock.now())
      const { permissions, ...fields } = content
      const role = em.create(Role, {
        id: this.#parts.db.newId(),
        code,
        ...fields,
        builtIn: false,
        ...(await this.#imposedRules(em, actor)),
        version: 1,
        createdAt: now,
        updatedAt: now,
      })
      this.#addPermissions(em, role.id, permissions)
      await em.flush()
      const rules = changesOf(summaryOfPolicy(noRules), summaryOfPolicy(role))
      await this.#parts.audit.record(actor, 'role.create', role.id, { ...summaryOf(code, content), ...rules })
      return role
    })
  }

  /**
   * Replaces the permissions and texts of a role. If nothing differs, nothing is written. A role that grants more then
   * has at least the rules for sign-ins of the actor, see `create`.
   *
   * @throws BusinessError "404" `iam.role-unknown`, "409" `iam.role-built-in`, `iam.version-conflict`, "403"
   *   `iam.out-of-scope` if the actor may not access all users with the role; also the errors of `create`
   */
  update(id: number, content: RoleContent, version: number, actor: Actor): Promise<Role> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      const role = await this.#changeable(em, id, actor)
      await this.#parts.audit.assertVersion('role', role, version)
      const held = (await em.find(RolePermission, { roleId: id })).map(({ permissionCode }) => permissionCode)
      const added = content.permissions.filter((code) => !held.includes(code))
      const removed = held.filter((code) => !content.permissions.includes(code))
      this.#assertMayGive(content, added, actor)
      await this.#parts.rules.assertHoldersInScope(em, id, actor)
      const { permissions: _, ...fields } = content
      const grantsDiffer = added.length + removed.length > 0 || fields.dataScope !== role.dataScope
      const isSame = fields.name === role.name && fields.description === (role.description ?? null)
      if (!grantsDiffer && isSame) return role
      if (grantsDiffer) await this.#parts.authority.changeOfAll()
      if (removed.length > 0) await em.nativeDelete(RolePermission, { roleId: id, permissionCode: { $in: removed } })
      this.#addPermissions(em, id, added)
      const before = { nameBefore: role.name, dataScopeBefore: role.dataScope, permissionsBefore: held }
      const isWider = added.length > 0 || narrowerScope(fields.dataScope, role.dataScope) !== fields.dataScope
      const rulesBefore = summaryOfPolicy(role)
      if (isWider) Object.assign(role, await this.#imposedRules(em, actor, role))
      Object.assign(role, fields)
      incrementRowVersion(role, this.#parts.clock)
      await em.flush()
      await this.#parts.audit.record(actor, 'role.update', id, {
        ...summaryOf(role.code, content),
        ...before,
        added,
        removed,
        ...changesOf(rulesBefore, summaryOfPolicy(role)),
      })
      return role
    })
  }

  /**
   * Replaces the rules of a role for sign-ins and sessions, also of the built-in role. They apply to running sessions of
   * its users from the next request. If nothing differs, nothing is written.
   *
   * @throws BusinessError "409" `iam.second-factor-missing` if a second factor is required, and users cannot set up one;
   *   also the errors of `update`
   */
  setSignInPolicy(id: number, policy: RoleSignInPolicy, version: number, actor: Actor): Promise<Role> {
    const { db, authority, audit, rules, clock, proofMethods } = this.#parts
    return db.transactional(async (em) => {
      await authority.lock()
      const role = await this.#within(em, id, actor)
      await audit.assertVersion('role', role, version)
      await rules.assertHoldersInScope(em, id, actor)
      const before = summaryOfPolicy(role)
      const after = summaryOfPolicy(policy)
      const changes = changesOf(before, after)
      if (Object.keys(changes).length === 0) return role
      // Otherwise users with the role could not sign in any more.
      const isOffered = [...proofMethods.values()].some(({ secondFactor }) => secondFactor?.canSetUp?.() === true)
      if ('secondFactorFrom' in changes && policy.secondFactorFrom !== null && !isOffered)
        throw businessError('second-factor-missing', { data: { field: 'secondFactorFrom' } })
      await authority.changeOfAll()
      Object.assign(role, policy)
      incrementRowVersion(role, clock)
      await em.flush()
      await audit.record(actor, 'role.sign-in-policy', id, { code: role.code, name: role.name, ...changes })
      return role
    })
  }

  /** @throws BusinessError "409" `iam.role-in-use` while users have the role; also the errors of `update` */
  delete(id: number, version: number | undefined, actor: Actor): Promise<void> {
    return this.#parts.db.transactional(async (em) => {
      await this.#parts.authority.lock()
      const role = await this.#changeable(em, id, actor)
      await this.#parts.audit.assertVersion('role', role, version)
      await this.#parts.rules.assertHoldersInScope(em, id, actor)
      const count = await em.count(UserRole, { roleId: id })
      if (count > 0) throw businessError('role-in-use', { params: { count }, data: { count } })
      await em.nativeDelete(RolePermission, { roleId: id })
      await em.nativeDelete(Role, { id })
      await this.#parts.audit.record(actor, 'role.delete', id, { code: role.code })
    })
  }

  async #changeable(em: SqlEntityManager, id: number, actor: Actor): Promise<Role> {
    const role = await em.findOne(Role, id)
    if (role?.builtIn) throw businessError('role-built-in')
    return this.#within(em, id, actor)
  }

  /** Returns the rules of a role that are at least those of an actor who may not change rules. */
  async #imposedRules(em: SqlEntityManager, actor: Actor, role: RoleSignInPolicy | Role = noRules) {
    const isFree = !('principal' in actor) || actor.principal.can(permissionCodes.guardsSave)
    const imposed = isFree ? {} : await signInPolicyOf(em, actor.principal.userId)
    return storedRules(strictestPolicy([role, storedRules(imposed)]))
  }

  /** Returns a role that grants nothing that the actor does not have. */
  async #within(em: SqlEntityManager, id: number, actor: Actor): Promise<Role> {
    const role = await em.findOne(Role, id)
    if (role === null) throw businessError('role-unknown')
    if ('principal' in actor) assertHasAllGrantsOf(actor.principal, await this.#parts.grants.ofRoles(em, [id]))
    return role
  }

  /** Checks only added permissions. A role keeps its permissions even if their plugin is no longer loaded. */
  #assertMayGive({ dataScope }: RoleContent, added: readonly string[], actor: Actor): void {
    const permission = added.find((code) => !this.#parts.catalogue.has(code))
    if (permission !== undefined) {
      throw businessError('permission-unknown', { params: { permission }, data: { permission, field: 'permissions' } })
    }
    if ('principal' in actor)
      assertHasAllGrantsOf(actor.principal, resolveGrants([{ code: '', dataScope, permissions: added }]))
  }

  #addPermissions(em: SqlEntityManager, roleId: number, codes: readonly string[]): void {
    for (const permissionCode of new Set(codes)) {
      em.create(RolePermission, { id: this.#parts.db.newId(), roleId, permissionCode })
    }
  }
}

function summaryOf(code: string, { name, dataScope, permissions }: RoleContent) {
  return { code, name, dataScope, permissions: [...permissions] }
}

const noRules: RoleSignInPolicy = { secondFactorFrom: null, sessionLifetime: null, sessionIdleTimeout: null }

const storedRules = ({ secondFactorFrom, sessionLifetime, sessionIdleTimeout }: SignInPolicy): RoleSignInPolicy => ({
  secondFactorFrom: secondFactorFrom === undefined ? null : new Date(secondFactorFrom),
  sessionLifetime: sessionLifetime ?? null,
  sessionIdleTimeout: sessionIdleTimeout ?? null,
})

const policyFields = ['secondFactorFrom', 'sessionLifetime', 'sessionIdleTimeout'] as const

/** Returns the rules as the audit shows them: the time in ISO 8601, and seconds. */
function summaryOfPolicy(rules: Pick<Role, (typeof policyFields)[number]>) {
  const seconds = (ms: number | bigint | null | undefined) => (ms == null ? null : Number(ms) / 1000)
  return {
    secondFactorFrom: rules.secondFactorFrom?.toISOString() ?? null,
    sessionLifetime: seconds(rules.sessionLifetime),
    sessionIdleTimeout: seconds(rules.sessionIdleTimeout),
  }
}

/** Returns the rules that differ, with their earlier values. */
function changesOf(before: ReturnType<typeof summaryOfPolicy>, after: ReturnType<typeof summaryOfPolicy>) {
  const changed = policyFields.filter((name) => before[name] !== after[name])
  return Object.fromEntries(
    changed.flatMap((name) => [
      [name, after[name]],
      [`${name}Before`, before[name]],
    ]),
  )
}

const builtInName = bilingual('Super administrator', '超级管理员')

/** Returns the name of a role. The name of the built-in role is in the language of the request. */
export const roleName = ({ code, name }: { readonly code: string; readonly name: string }, locale: string): string =>
  code === superAdminRole ? localize(builtInName, locale) : name
