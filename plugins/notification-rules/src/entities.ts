import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, createEditColumns } from '@plinth/database'

/** A rule in the form that `normalizeRule` returns. */
export const RuleRow = defineEntity({
  name: 'NotificationRule',
  tableName: 'notification_rule',
  indexes: [
    { properties: ['enabled', 'id'] },
    { properties: ['enabled', 'code', 'id'] },
    { properties: ['createdAt', 'id'] },
    { properties: ['enabled', 'createdAt', 'id'] },
  ],
  uniques: [{ properties: ['code'] }],
  properties: {
    id: column.primaryKey(),
    code: column.text(128),
    enabled: column.boolean(),
    thresholdCount: column.integer(),
    thresholdWindowMs: column.bigint().nullable(),
    dedupeWindowMs: column.bigint().nullable(),
    silenceWindowMs: column.bigint().nullable(),
    channels: column.json<string[]>(),
    recipientUserIds: column.json<number[]>(),
    escalationEnabled: column.boolean(),
    escalationAfterMs: column.bigint().nullable(),
    escalationDedupeWindowMs: column.bigint().nullable(),
    escalationChannels: column.json<string[]>(),
    escalationRecipientUserIds: column.json<number[]>(),
    ...createEditColumns(),
  },
})
export type RuleRow = InferEntity<typeof RuleRow>

/**
 * State of one alert, see alert-states.ts. All times are those of the database clock, in milliseconds since the epoch.
 */
export const AlertStateRow = defineEntity({
  name: 'NotificationRuleState',
  tableName: 'notification_rule_state',
  indexes: [{ properties: ['expiresAtMs', 'id'] }, { properties: ['code', 'id'] }],
  uniques: [{ properties: ['stateKey'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of code and dedupe key. */
    stateKey: column.text(64),
    code: column.text(128),
    dedupeKey: column.text(200),
    counted: column.bigint(),
    windowStartedAtMs: column.bigint(),
    lastSentAtMs: column.bigint().nullable(),
    unresolvedSinceMs: column.bigint().nullable(),
    lastEscalatedAtMs: column.bigint().nullable(),
    /** Time after which the alert has expired. A later event starts a new alert. */
    expiresAtMs: column.bigint(),
  },
})
