import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import type { Outcome } from '../contract.ts'

export const sessionStatuses = ['running', 'passed', 'failed', 'restart-required', 'interrupted'] as const
export type SessionStatus = (typeof sessionStatuses)[number]

export const SessionRow = defineEntity({
  name: 'InstallSession',
  tableName: 'install_session',
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    id: column.text(36).primary(),
    status: column.text(16).$type<SessionStatus>(),
    startedAt: column.timestamp(),
    endedAt: column.timestamp().nullable(),
    /** Session that this session repeats, or empty. */
    retriedSessionId: column.text(36),
    failedStep: column.text(128),
    message: column.longText(),
    clientIp: column.text(64),
  },
})
export type SessionRow = InferEntity<typeof SessionRow>

export const RecordRow = defineEntity({
  name: 'InstallRecord',
  tableName: 'install_record',
  indexes: [{ properties: ['sessionId', 'occurredAt'] }, { properties: ['occurredAt'] }],
  properties: {
    id: column.primaryKey(),
    /** Id of the session; empty for a step that ran alone. */
    sessionId: column.text(36),
    stepCode: column.text(128),
    status: column.text(16).$type<Outcome>(),
    message: column.longText(),
    occurredAt: column.timestamp(),
  },
})
export type RecordRow = InferEntity<typeof RecordRow>

/** An operation on the installation. */
export const AuditRow = defineEntity({
  name: 'InstallAudit',
  tableName: 'install_audit',
  indexes: [{ properties: ['occurredAt'] }],
  properties: {
    id: column.primaryKey(),
    occurredAt: column.timestamp(),
    action: column.text(64),
    status: column.text(16).$type<Outcome>(),
    sessionId: column.text(64),
    operator: column.text(128),
    clientIp: column.text(64),
    userAgent: column.text(255),
    traceId: column.text(128),
    summary: column.json<Record<string, string | number | boolean>>(),
  },
})
export type AuditRow = InferEntity<typeof AuditRow>

/**
 * A single row with the state of the installation. It is only a copy for other programs and for people: the key
 * `platform.install.installed` is decisive. `holder` is the process that runs an installation.
 */
export const StateRow = defineEntity({
  name: 'InstallState',
  tableName: 'install_state',
  properties: {
    id: column.primaryKey(),
    installed: column.boolean(),
    sessionId: column.text(36),
    changedAt: column.timestamp().nullable(),
    changedBy: column.text(128),
    holder: column.text(36),
    holderSpace: column.text(64),
    holderPid: column.integer(),
    heldUntil: column.bigint(),
  },
})
export type StateRow = InferEntity<typeof StateRow>

export const entities = [SessionRow, RecordRow, AuditRow, StateRow]

const reason = bilingual(
  'The record of the installation proves what was done to the product.',
  '安装记录证明对产品执行过哪些操作。',
)

/** Tables with the names of operators. */
export const installTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, AuditRow, {
    title: bilingual('Actions on the installation', '安装操作记录'),
    owner: { username: 'operator' },
    erasure: 'anonymised',
    set: { operator: erasedName, clientIp: '', userAgent: '' },
    reason,
  }),
  personalTable(db, StateRow, {
    title: bilingual('State of the installation that the user changed last', '用户最后修改的安装状态'),
    owner: { username: 'changed_by' },
    erasure: 'anonymised',
    set: { changedBy: erasedName },
    reason,
  }),
]
