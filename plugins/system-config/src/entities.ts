import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import type { ChangeOrigin, RequestStatus } from './contract.ts'

/**
 * The stored value of one key. `configValue` is JSON text, encrypted with the master key `masterKeyId` unless that is
 * null. `destination` is the encrypted destination of a secret. If the value is state of a plugin, `stateOf` is the
 * plugin id.
 */
export const ConfigRow = defineEntity({
  name: 'SystemConfig',
  tableName: 'sys_config',
  properties: {
    configKey: column.text(200).primary(),
    configValue: column.longText(),
    masterKeyId: column.text(16).nullable(),
    sensitive: column.boolean(),
    version: column.bigint(),
    updatedAt: column.timestamp(),
    updatedBy: column.text(128),
    stateOf: column.text(128).nullable(),
    destination: column.longText().nullable(),
  },
})
export type ConfigRow = InferEntity<typeof ConfigRow>

/** One change of one key. A null value means that the key had no value. All changes of a save have the same version. */
export const HistoryRow = defineEntity({
  name: 'SystemConfigHistory',
  tableName: 'sys_config_history',
  indexes: [
    { name: 'sys_config_history_version', properties: ['version'] },
    { name: 'sys_config_history_actor', properties: ['actor', 'version'] },
    { name: 'sys_config_history_user', properties: ['actorUserId', 'version'] },
  ],
  properties: {
    configKey: column.text(200).primary(),
    version: column.bigint().primary().unsigned(false),
    oldValue: column.longText().nullable(),
    oldMasterKeyId: column.text(16).nullable(),
    newValue: column.longText().nullable(),
    newMasterKeyId: column.text(16).nullable(),
    sensitive: column.boolean(),
    origin: column.text(16).$type<ChangeOrigin>(),
    actor: column.text(128),
    actorUserId: column.id().nullable(),
    reason: column.text(200).nullable(),
    traceId: column.text(128).nullable(),
    changedAt: column.timestamp(),
    oldDestination: column.longText().nullable(),
    newDestination: column.longText().nullable(),
  },
})
export type HistoryRow = InferEntity<typeof HistoryRow>

/**
 * Changes that wait for the approval of another operator. `changes` is JSON text without secrets. `secrets` is JSON text
 * that is encrypted with the master key `masterKeyId`; it is removed when the request ends.
 */
export const RequestRow = defineEntity({
  name: 'SystemConfigRequest',
  tableName: 'sys_config_request',
  indexes: [
    { properties: ['status', 'id'] },
    { properties: ['requestedByUserId', 'status'] },
    { properties: ['decidedByUserId'] },
  ],
  properties: {
    id: column.primaryKey(),
    status: column.text(16).$type<Exclude<RequestStatus, 'expired'>>(),
    origin: column.text(16).$type<ChangeOrigin>(),
    changes: column.longText(),
    secrets: column.longText().nullable(),
    masterKeyId: column.text(16).nullable(),
    requestedBy: column.text(128),
    requestedByUserId: column.id(),
    reason: column.text(200).nullable(),
    createdAt: column.timestamp(),
    decidedBy: column.text(128).nullable(),
    decidedByUserId: column.id().nullable(),
    decisionReason: column.text(200).nullable(),
    decidedAt: column.timestamp().nullable(),
  },
})
export type RequestRow = InferEntity<typeof RequestRow>

/** A single row. Every save locks it, so that saves run one after another. */
export const VersionRow = defineEntity({
  name: 'SystemConfigVersion',
  tableName: 'sys_config_version',
  properties: {
    id: column.primaryKey(),
    version: column.bigint(),
    changedAt: column.timestamp(),
  },
})

/** State of the stored values in one process. `report` is JSON text. */
export const InstanceRow = defineEntity({
  name: 'SystemConfigInstance',
  tableName: 'sys_config_instance',
  properties: {
    id: column.text(36).primary(),
    host: column.text(128),
    pid: column.integer(),
    roles: column.text(64),
    version: column.bigint(),
    report: column.longText(),
    startedAt: column.timestamp(),
    seenAt: column.timestamp(),
  },
})
export type InstanceRow = InferEntity<typeof InstanceRow>

export const entities = [ConfigRow, HistoryRow, RequestRow, VersionRow, InstanceRow]

const reason = bilingual(
  'Values of the configuration belong to the product. The history shows who changed what by the user id only.',
  '配置值属于产品。变更历史仅以用户编号记录操作者。',
)

/**
 * Tables with the users who changed the configuration. Values are not exported, because they are not about the user.
 * The column `sensitive` is omitted, because its name is a reserved word in MariaDB.
 */
export const configTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, ConfigRow, {
    title: bilingual('Configuration values that the user changed last', '用户最后修改的配置值'),
    owner: { username: 'updated_by' },
    omit: ['configValue', 'masterKeyId', 'destination', 'sensitive'],
    erasure: 'anonymised',
    set: { updatedBy: erasedName },
    reason,
  }),
  personalTable(db, HistoryRow, {
    title: bilingual('Configuration changes', '配置变更记录'),
    owner: 'actor_user_id',
    omit: ['oldValue', 'newValue', 'oldMasterKeyId', 'newMasterKeyId', 'oldDestination', 'newDestination', 'sensitive'],
    erasure: 'anonymised',
    set: { actor: erasedName, reason: null },
    reason,
  }),
  personalTable(db, RequestRow, {
    title: bilingual('Requested configuration changes', '申请的配置变更'),
    owner: 'requested_by_user_id',
    omit: ['changes', 'secrets', 'masterKeyId', 'decidedBy', 'decidedByUserId', 'decisionReason'],
    erasure: 'anonymised',
    set: { requestedBy: erasedName, reason: null },
    reason,
  }),
  personalTable(db, RequestRow, {
    title: bilingual('Decisions about requested configuration changes', '对配置变更申请的决定'),
    owner: 'decided_by_user_id',
    omit: ['changes', 'secrets', 'masterKeyId', 'requestedBy', 'requestedByUserId', 'reason'],
    erasure: 'anonymised',
    set: { decidedBy: erasedName, decisionReason: null },
    reason,
  }),
]
