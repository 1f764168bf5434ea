import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'

/** Change of the account that the link allows. */
export type RecoveryPurpose = 'reset' | 'invitation' | 'email-change' | 'email-undo'

/** A link that was sent by mail. Each user has at most one row per purpose, so a new link replaces the previous one. */
export const RecoveryTokenRow = defineEntity({
  name: 'IamRecoveryToken',
  tableName: 'iam_recovery_token',
  uniques: [{ properties: ['tokenHash'] }, { properties: ['userId', 'purpose'] }],
  indexes: [{ properties: ['inviterId'] }, { properties: ['expiresAt'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of the token in lower-case hexadecimal. */
    tokenHash: column.text(64),
    purpose: column.text(16).$type<RecoveryPurpose>(),
    userId: column.id(),
    /** Address to which the link was sent. */
    address: column.text(254),
    /** `CredentialHolder.state` when the link was created. For `email-undo`, `addressState` of the new address. */
    state: column.text(64),
    /** Operator whose permissions the invitation needs when it is accepted. Null for other purposes. */
    inviterId: column.id().nullable(),
    createdAt: column.timestamp(),
    expiresAt: column.timestamp(),
    usedAt: column.timestamp().nullable(),
  },
})
export type RecoveryTokenRow = InferEntity<typeof RecoveryTokenRow>

const secretColumns = ['tokenHash', 'state'] as const

export const recoveryTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, RecoveryTokenRow, {
    title: bilingual('Links for recovery and invitation', '恢复和邀请链接'),
    owner: 'user_id',
    omit: secretColumns,
    erasure: 'removed',
  }),
  personalTable(db, RecoveryTokenRow, {
    title: bilingual('Invitations that the user sent', '用户发出的邀请'),
    owner: 'inviter_id',
    // These columns describe the invited user.
    omit: [...secretColumns, 'userId', 'address'],
    erasure: 'removed',
  }),
]
