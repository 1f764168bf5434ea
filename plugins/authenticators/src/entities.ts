import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'

/** Random user handle, by which authenticators know the account (WebAuthn Level 3, section 14.6.1). */
export const HandleRow = defineEntity({
  name: 'AuthenticatorHandle',
  tableName: 'authenticator_handle',
  uniques: [{ properties: ['userId'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** 32 random bytes in base64url. */
    handle: column.text(43),
    createdAt: column.timestamp(),
  },
})

export const PasskeyRow = defineEntity({
  name: 'AuthenticatorPasskey',
  tableName: 'authenticator_passkey',
  uniques: [{ properties: ['credentialHash'] }],
  indexes: [{ properties: ['userId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** Credential id in base64url: at most 1023 bytes (WebAuthn Level 3, section 4). */
    credentialId: column.longText(),
    /** SHA-256 of the credential id in lower-case hexadecimal, because the id is too long for a unique index. */
    credentialHash: column.text(64),
    /** COSE key in base64url: at most 2048 bytes. */
    publicKey: column.longText(),
    /** Signature counter. Always 0 for synced passkeys. */
    counter: column.bigint(),
    /** Transports separated by commas, as hints for the browser. */
    transports: column.text(128),
    /** True if the authenticator may copy the passkey to other devices. Never changes. */
    backupEligible: column.boolean(),
    backedUp: column.boolean(),
    aaguid: column.text(36),
    /** Host of the site for which the passkey was created. It works for no other host. */
    rpId: column.text(253),
    name: column.text(64),
    createdAt: column.timestamp(),
    lastUsedAt: column.timestamp().nullable(),
  },
})
export type PasskeyRow = InferEntity<typeof PasskeyRow>

/** One-time passwords of an authenticator app (RFC 6238). */
export const TotpRow = defineEntity({
  name: 'AuthenticatorTotp',
  tableName: 'authenticator_totp',
  uniques: [{ properties: ['userId'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    secretEnc: column.text(255),
    /** Last time step whose code was accepted. Codes of this step and of earlier ones are rejected. */
    lastStep: column.bigint(),
    /** Failed attempts from unknown networks since the last success. */
    failures: column.integer(),
    /** Time at which the owner was told that codes are blocked for unknown networks. Null: not blocked. */
    blockedAt: column.timestamp().nullable(),
    createdAt: column.timestamp(),
  },
})
export type TotpRow = InferEntity<typeof TotpRow>

export const RecoveryCodeRow = defineEntity({
  name: 'AuthenticatorRecoveryCode',
  tableName: 'authenticator_recovery_code',
  uniques: [{ properties: ['userId', 'codeHash'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** SHA-256 of the code in lower-case hexadecimal. The code has 120 random bits, so it needs no salt (ASVS 6.5.2). */
    codeHash: column.text(64),
    createdAt: column.timestamp(),
    usedAt: column.timestamp().nullable(),
  },
})

/** A network from which a user has proven a second factor. */
export const NetworkRow = defineEntity({
  name: 'AuthenticatorNetwork',
  tableName: 'authenticator_network',
  uniques: [{ properties: ['userId', 'networkHash'] }],
  indexes: [{ properties: ['lastSuccessAt'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    /** See `RateLimiter.addressKey`. */
    networkHash: column.text(64),
    /** Failed one-time passwords from this network since the last success. */
    failures: column.integer(),
    lastSuccessAt: column.timestamp(),
  },
})

export const entities = [HandleRow, PasskeyRow, TotpRow, RecoveryCodeRow, NetworkRow]

const removedWithUser = { owner: 'user_id', erasure: 'removed' } as const

export const authenticatorTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, PasskeyRow, {
    ...removedWithUser,
    title: bilingual('Passkeys', '通行密钥'),
    omit: ['credentialHash', 'publicKey'],
  }),
  personalTable(db, TotpRow, {
    ...removedWithUser,
    title: bilingual('One-time passwords', '动态口令'),
    omit: ['secretEnc', 'lastStep'],
  }),
  personalTable(db, RecoveryCodeRow, {
    ...removedWithUser,
    title: bilingual('Recovery codes', '恢复码'),
    omit: ['codeHash'],
  }),
  personalTable(db, NetworkRow, {
    ...removedWithUser,
    title: bilingual('Networks of second factors', '使用过第二因素的网络'),
    omit: ['networkHash'],
  }),
  personalTable(db, HandleRow, {
    ...removedWithUser,
    title: bilingual('User handle of passkeys', '通行密钥的用户句柄'),
  }),
]
