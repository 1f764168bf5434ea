import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import { ApiTokenRow } from './api-tokens/entities.ts'

const foldedEmail = ({ email }: { readonly email?: string | null }) => email?.toLowerCase() ?? ''

export const User = defineEntity({
  name: 'IamUser',
  tableName: 'iam_user',
  uniques: [{ properties: ['usernameKey'] }, { properties: ['emailKey'] }, { properties: ['mobile'] }],
  indexes: [
    { properties: ['orgId', 'id'] },
    { properties: ['enabled', 'id'] },
    { properties: ['emailFolded', 'id'] },
    { properties: ['lastLoginAt', 'id'] },
    { properties: ['createdAt', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    username: column.text(64),
    /** Folded form, which is equal for names that differ only in case or in compatible characters. */
    usernameKey: column.text(128),
    email: column.text(254).nullable(),
    /**
     * Folded form of an address that can be used to sign in. Null until the address is proven or set by an
     * administrator.
     */
    emailKey: column.text(254).nullable(),
    /** Folded form of any address, for sorting. Empty without an address. */
    emailFolded: column.text(254).default('').onCreate(foldedEmail).onUpdate(foldedEmail),
    /** Number in E.164 format. */
    mobile: column.text(16).nullable(),
    /** Hash as a PHC string. Null for users who only sign in with an external identity. */
    passwordHash: column.text(255).nullable(),
    enabled: column.boolean(),
    orgId: column.id().nullable(),
    version: column.integer(),
    createdAt: column.timestamp(),
    updatedAt: column.timestamp(),
    lastLoginAt: column.timestamp().nullable(),
  },
})
export type User = InferEntity<typeof User>

export const Role = defineEntity({
  name: 'IamRole',
  tableName: 'iam_role',
  uniques: [{ properties: ['code'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(64),
    name: column.text(128),
    description: column.text(500).nullable(),
    dataScope: column.text(8).$type<'all' | 'self' | 'org'>(),
    builtIn: column.boolean(),
    /** Time from which users with the role must sign in with a second factor. Null: never. */
    secondFactorFrom: column.timestamp().nullable(),
    /** Maximum lifetime and idle time of the sessions of users with the role, in milliseconds. Null: as configured. */
    sessionLifetime: column.bigint().nullable(),
    sessionIdleTimeout: column.bigint().nullable(),
    version: column.integer(),
    createdAt: column.timestamp(),
    updatedAt: column.timestamp(),
  },
})
export type Role = InferEntity<typeof Role>

/**
 * Declared permissions. Permissions of plugins that are no longer loaded are kept, because roles may still contain
 * them.
 */
export const Permission = defineEntity({
  name: 'IamPermission',
  tableName: 'iam_permission',
  uniques: [{ properties: ['code'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(128),
    plugin: column.text(128),
    name: column.text(255),
  },
})

export const UserRole = defineEntity({
  name: 'IamUserRole',
  tableName: 'iam_user_role',
  uniques: [{ properties: ['userId', 'roleId'] }],
  indexes: [{ properties: ['roleId', 'userId'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    roleId: column.id(),
  },
})

export const RolePermission = defineEntity({
  name: 'IamRolePermission',
  tableName: 'iam_role_permission',
  uniques: [{ properties: ['roleId', 'permissionCode'] }],
  properties: {
    id: column.primaryKey(),
    roleId: column.id(),
    permissionCode: column.text(128),
  },
})

export const Token = defineEntity({
  name: 'IamToken',
  tableName: 'iam_token',
  uniques: [{ properties: ['tokenHash'] }],
  indexes: [
    { properties: ['userId'] },
    { properties: ['expiresAt'] },
    { properties: ['revokedAt'] },
    { properties: ['lastSeenAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** SHA-256 of the token in lower-case hexadecimal. */
    tokenHash: column.text(64),
    method: column.text(32),
    clientIp: column.text(64),
    userAgent: column.text(255),
    createdAt: column.timestamp(),
    expiresAt: column.timestamp(),
    lastSeenAt: column.timestamp(),
    revokedAt: column.timestamp().nullable(),
    /**
     * Time and method of the last proof of identity, see `SessionProof`. Null if there was none, and for sessions of
     * earlier releases.
     */
    provenAt: column.timestamp().nullable(),
    provenBy: column.text(32).nullable(),
    /** Name of the second factor that the user has proven in this session. Null: none. */
    secondFactor: column.text(32).nullable(),
    /** Name of the device, derived from the browser or given by the user. Null for sessions of earlier releases. */
    deviceName: column.text(100).nullable(),
  },
})
export type Token = InferEntity<typeof Token>

/**
 * A sign-in whose first factor is proven, and whose second factor is not. It is no session: it can only be completed, or
 * used to set up the first second factor.
 */
export const PendingSignIn = defineEntity({
  name: 'IamPendingSignIn',
  tableName: 'iam_pending_sign_in',
  uniques: [{ properties: ['tokenHash'] }],
  indexes: [{ properties: ['userId'] }, { properties: ['expiresAt'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** SHA-256 of the token in lower-case hexadecimal. */
    tokenHash: column.text(64),
    /** Method of the first factor, see `LoginAttempt.method`. */
    method: column.text(32),
    /** State of the account when the first factor was proven, see `CredentialHolder.state`. */
    state: column.text(64),
    /** See `LoginAttempt.isProof`. */
    isProof: column.boolean(),
    failures: column.integer(),
    createdAt: column.timestamp(),
    expiresAt: column.timestamp(),
  },
})
export type PendingSignIn = InferEntity<typeof PendingSignIn>

/** A browser from which a user has signed in before. It is recognised by a random cookie. */
export const KnownDevice = defineEntity({
  name: 'IamKnownDevice',
  tableName: 'iam_known_device',
  uniques: [{ properties: ['userId', 'secretHash'] }],
  indexes: [{ properties: ['lastSeenAt'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** SHA-256 of the cookie in lower-case hexadecimal. */
    secretHash: column.text(64),
    name: column.text(100),
    createdAt: column.timestamp(),
    lastSeenAt: column.timestamp(),
  },
})
export type KnownDevice = InferEntity<typeof KnownDevice>

export const LoginAuditRow = defineEntity({
  name: 'IamLoginAudit',
  tableName: 'iam_login_audit',
  indexes: [
    { properties: ['occurredAt'] },
    { properties: ['userId', 'id'] },
    { properties: ['clientIp', 'id'] },
    { properties: ['success', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    occurredAt: column.timestamp(),
    method: column.text(32),
    /** Masked, because users sometimes type a password into the wrong field. */
    identifier: column.text(64),
    userId: column.id().nullable(),
    success: column.boolean(),
    /** `reason` is the stable code of a failure, `message` is the text that the caller received. */
    reason: column.text(128).nullable(),
    message: column.text(255).nullable(),
    /** Number of attempts that this row represents. During an attack, one row represents several attempts. */
    attempts: column.integer().default(1),
    clientIp: column.text(64),
    userAgent: column.text(255),
    traceId: column.text(128),
  },
})
export type LoginAuditRow = InferEntity<typeof LoginAuditRow>

export const Audit = defineEntity({
  name: 'IamAudit',
  tableName: 'iam_audit',
  indexes: [
    { properties: ['occurredAt'] },
    { properties: ['actorUserId', 'id'] },
    { properties: ['targetId', 'id'] },
    { properties: ['targetName', 'id'] },
    { properties: ['targetType', 'targetId', 'id'] },
    { properties: ['targetType', 'targetName', 'id'] },
    { properties: ['targetType', 'id'] },
    { properties: ['actor', 'id'] },
    { properties: ['action', 'id'] },
    { properties: ['traceId', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    occurredAt: column.timestamp(),
    /** `user:<id>`, or the name of an actor that is not a user: `cli`, `install`. */
    actor: column.text(64),
    /** Id of the user in `actor`, to restrict the list to the data scope of the reader. */
    actorUserId: column.id().nullable(),
    action: column.text(64),
    targetType: column.text(32),
    /** 0 if the target has no numeric id. */
    targetId: column.id(),
    targetName: column.text(200).nullable(),
    summary: column.json<Record<string, unknown>>(),
    reason: column.text(200).nullable(),
    clientIp: column.text(64),
    traceId: column.text(128),
  },
})
export type Audit = InferEntity<typeof Audit>

export const ExternalIdentityRow = defineEntity({
  name: 'IamExternalIdentity',
  tableName: 'iam_external_identity',
  uniques: [{ properties: ['provider', 'subject'] }],
  indexes: [{ properties: ['userId'] }],
  properties: {
    id: column.primaryKey(),
    provider: column.text(32),
    chainType: column.text(32),
    subject: column.text(255),
    userId: column.id(),
    /** See `ExternalIdentity.proof`. Null if the identity was bound without a proof or by an earlier release. */
    proof: column.text(64).nullable(),
    createdAt: column.timestamp(),
  },
})

/** A single row with the number of permission changes, and the lock of users. See access/authority.ts. */
const Epoch = defineEntity({
  name: 'IamEpoch',
  tableName: 'iam_epoch',
  properties: {
    id: column.primaryKey(),
    epoch: column.bigint(),
    /** Ids of new users are larger. See `Identity.limitUserIds`. */
    userIdLimit: column.bigint().default(0),
  },
})

/** A change of permissions. Its id is the epoch after the change. Purged when no instance needs it any more. */
export const AuthorityChange = defineEntity({
  name: 'IamAuthorityChange',
  tableName: 'iam_authority_change',
  indexes: [{ properties: ['changedAt'] }],
  properties: {
    id: column.primaryKey(),
    /** User whose permissions changed, or null if many users are affected. */
    userId: column.id().nullable(),
    changedAt: column.timestamp(),
  },
})

export const entities = [
  User,
  Role,
  Permission,
  UserRole,
  RolePermission,
  Token,
  PendingSignIn,
  KnownDevice,
  ApiTokenRow,
  LoginAuditRow,
  Audit,
  ExternalIdentityRow,
  Epoch,
  AuthorityChange,
]
