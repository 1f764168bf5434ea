import type { SqlEntityManager } from '@mikro-orm/sql'
import {
  auditedChange,
  auditedChanges,
  currentVersion,
  describedValue,
  id,
  instant,
  nullable,
  Type,
} from '@plinth/http'
import type { Static } from 'typebox'
import { roleName } from '../access/roles.ts'
import { noTargetId } from '../audit/audit.ts'
import { auditWords, type KindsOfAuditedObjects } from '../audit/audit-words.ts'
import { type Audit, type LoginAuditRow, Role, RolePermission, type User, UserRole } from '../entities.ts'
import type { ActiveSession } from '../sessions/sessions.ts'

const iso = (moment: Date | null | undefined) => moment?.toISOString() ?? null

const secondsOf = (ms: number | bigint | null | undefined) => (ms == null ? null : Number(ms) / 1000)

export const dataScopeSchema = Type.Enum(['all', 'org', 'self'], {
  description:
    'Rows that the user may reach. `all`: all rows. `org`: rows of the organisation of the user. `self`: rows of the user.',
})

export const userView = Type.Object({
  id,
  username: Type.String(),
  email: nullable(Type.String()),
  emailVerified: Type.Boolean({
    description: 'True if the user can log in with this address, because it was verified or set by an administrator.',
  }),
  mobile: nullable(Type.String()),
  enabled: Type.Boolean(),
  orgId: nullable(Type.Integer()),
  roles: Type.Array(Type.Object({ id, code: Type.String(), name: Type.String() })),
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
  lastLoginAt: nullable(instant),
})

export const callerAccountView = Type.Object({
  ...userView.properties,
  isSuperAdmin: Type.Boolean(),
  permissions: Type.Array(Type.String()),
  dataScope: dataScopeSchema,
})

/** Limits of a session in seconds. The idle timeout is longer than a minute, because the use of a session is stored once per minute. */
const lifetime = Type.Integer({ minimum: 60, maximum: 31_536_000 })
const idleTimeout = Type.Integer({ minimum: 120, maximum: 31_536_000 })

/** Rules of a role for sign-ins and sessions. Null: no rule. */
export const signInPolicySchema = Type.Object({
  secondFactorFrom: nullable(instant, {
    description:
      'Time from which users with the role must sign in with a second factor. Their sessions without one end then.',
  }),
  sessionLifetime: nullable(lifetime, {
    description: 'Maximum lifetime of the sessions of users with the role, in seconds. The shortest limit applies.',
  }),
  sessionIdleTimeout: nullable(idleTimeout, {
    description: 'Time in seconds after which unused sessions of users with the role end. The shortest limit applies.',
  }),
})

export const roleView = Type.Object({
  id,
  code: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  dataScope: dataScopeSchema,
  builtIn: Type.Boolean(),
  permissions: Type.Array(Type.String()),
  ...signInPolicySchema.properties,
  version: currentVersion,
  createdAt: instant,
  updatedAt: instant,
})

export const sessionView = Type.Object({
  id,
  deviceName: nullable(Type.String({ description: 'Name of the browser and system, or a name that the user chose.' })),
  method: Type.String(),
  secondFactor: nullable(Type.String({ description: 'Second factor of the sign-in, for example `totp`.' })),
  clientIp: Type.String(),
  userAgent: Type.String(),
  createdAt: instant,
  expiresAt: instant,
  lastSeenAt: instant,
  current: Type.Boolean({ description: 'True for the session of this request.' }),
})

export const loginAuditView = Type.Object({
  id,
  occurredAt: instant,
  method: Type.String(),
  identifier: Type.String({ description: 'Masked name with which the login was attempted.' }),
  userId: nullable(Type.Integer()),
  success: Type.Boolean(),
  reason: nullable(Type.String()),
  message: nullable(Type.String()),
  attempts: Type.Integer({ minimum: 1, description: 'Number of attempts that this record represents.' }),
  clientIp: Type.String(),
  userAgent: Type.String(),
  traceId: Type.String(),
})

export const auditView = Type.Object({
  id,
  occurredAt: instant,
  actor: Type.String(),
  action: Type.String(),
  targetType: Type.String(),
  targetId: nullable(Type.Integer({ description: 'Id of the changed object. Null if it has no numeric id.' })),
  targetName: nullable(
    Type.String({ description: 'Name of the changed object, if it has a name instead of a numeric id.' }),
  ),
  summary: Type.Record(Type.String(), Type.Unknown()),
  reason: nullable(Type.String({ description: 'Reason that the administrator sent in `X-Reason`.' })),
  clientIp: Type.String(),
  traceId: Type.String(),
  actionName: Type.String({ description: 'Name of the action in the language of the request.' }),
  targetKind: Type.String({ description: 'Kind of the changed object in the language of the request.' }),
  target: nullable(describedValue),
})

export const auditDetailView = Type.Object({
  ...auditView.properties,
  changes: Type.Array(auditedChange, { description: 'Facts of the summary with their titles.' }),
})

/**
 * Returns the response objects of users, with their roles, in the same order. Uses two queries for any number of users.
 */
export async function userViews(
  em: SqlEntityManager,
  users: readonly User[],
  locale: string,
): Promise<Static<typeof userView>[]> {
  const held = users.length === 0 ? [] : await em.find(UserRole, { userId: { $in: users.map((user) => user.id) } })
  const roleIds = [...new Set(held.map(({ roleId }) => roleId))]
  const roles = roleIds.length === 0 ? [] : await em.find(Role, { id: { $in: roleIds } }, { orderBy: { id: 'asc' } })
  const byId = new Map(roles.map((role) => [role.id, { id: role.id, code: role.code, name: roleName(role, locale) }]))
  const rolesOf = Map.groupBy(held, ({ userId }) => userId)
  return users.map((user) => ({
    id: user.id,
    username: user.username,
    email: user.email ?? null,
    emailVerified: (user.emailKey ?? null) !== null,
    mobile: user.mobile ?? null,
    enabled: user.enabled,
    orgId: user.orgId ?? null,
    roles: (rolesOf.get(user.id) ?? [])
      .flatMap(({ roleId }) => byId.get(roleId) ?? [])
      .sort((one, other) => one.id - other.id),
    version: user.version,
    createdAt: user.createdAt.toISOString(),
    updatedAt: user.updatedAt.toISOString(),
    lastLoginAt: iso(user.lastLoginAt),
  }))
}

export async function roleViews(
  em: SqlEntityManager,
  roles: readonly Role[],
  locale: string,
): Promise<Static<typeof roleView>[]> {
  const ids = roles.map((role) => role.id)
  const held = ids.length === 0 ? [] : await em.find(RolePermission, { roleId: { $in: ids } })
  const byRole = Map.groupBy(held, ({ roleId }) => roleId)
  return roles.map(({ id, code, dataScope, builtIn, version, createdAt, updatedAt, ...role }) => ({
    id,
    code,
    dataScope,
    builtIn,
    version,
    name: roleName({ code, name: role.name }, locale),
    description: role.description ?? null,
    secondFactorFrom: iso(role.secondFactorFrom),
    sessionLifetime: secondsOf(role.sessionLifetime),
    sessionIdleTimeout: secondsOf(role.sessionIdleTimeout),
    permissions: (byRole.get(id) ?? []).map(({ permissionCode }) => permissionCode).sort(),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  }))
}

export function viewOfSession({ session, endsAt }: ActiveSession, currentId: number): Static<typeof sessionView> {
  const { id, deviceName, method, secondFactor, clientIp, userAgent, createdAt, lastSeenAt } = session
  return {
    id,
    deviceName: deviceName ?? null,
    method,
    secondFactor: secondFactor ?? null,
    clientIp,
    userAgent,
    createdAt: createdAt.toISOString(),
    expiresAt: endsAt.toISOString(),
    lastSeenAt: lastSeenAt.toISOString(),
    current: id === currentId,
  }
}

/**
 * @param translate returns the text of a reason in the language of the request, or undefined if it is unknown
 */
export function viewOfLoginAudit(
  { occurredAt, ...row }: LoginAuditRow,
  translate: (reason: string) => string | undefined,
): Static<typeof loginAuditView> {
  const { userId, reason, message } = row
  const text = reason == null ? undefined : translate(reason)
  return {
    ...row,
    occurredAt: occurredAt.toISOString(),
    userId: userId ?? null,
    reason: reason ?? null,
    // A text with parameters was only complete when the attempt was rejected, so the stored text is returned.
    message: (text?.includes('{{') ? undefined : text) ?? message ?? null,
  }
}

const auditRow = ({ occurredAt, targetId, targetName, reason, actorUserId: _, ...row }: Audit) => ({
  ...row,
  targetId: targetId === noTargetId ? null : targetId,
  targetName: targetName ?? null,
  reason: reason ?? null,
  occurredAt: occurredAt.toISOString(),
})

export const viewOfAudit =
  (kinds: KindsOfAuditedObjects, locale: string) =>
  (audit: Audit): Static<typeof auditView> => {
    const row = auditRow(audit)
    return { ...row, ...auditWords(row, kinds, locale) }
  }

export function detailOfAudit(
  audit: Audit,
  kinds: KindsOfAuditedObjects,
  locale: string,
): Static<typeof auditDetailView> {
  const row = viewOfAudit(kinds, locale)(audit)
  return { ...row, changes: auditedChanges(row.summary, kinds.get(row.action.split('.', 1)[0] ?? '') ?? {}, locale) }
}
