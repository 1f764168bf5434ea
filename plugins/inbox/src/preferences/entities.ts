import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** Decision of a user about one category on one channel. Stored only where it differs from the default. */
export const PreferenceCellRow = defineEntity({
  name: 'NotificationPreferenceCell',
  tableName: 'notification_preference_cell',
  uniques: [{ properties: ['userId', 'channel', 'category'] }],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    channel: column.text(64),
    category: column.text(64),
    enabled: column.boolean(),
  },
})
export type PreferenceCellRow = InferEntity<typeof PreferenceCellRow>

/** Default of an operator for one category on one channel. Stored only where it differs from the declared default. */
export const PreferenceDefaultRow = defineEntity({
  name: 'NotificationPreferenceDefault',
  tableName: 'notification_preference_default',
  uniques: [{ properties: ['channel', 'category'] }],
  properties: {
    id: column.primaryKey(),
    channel: column.text(64),
    category: column.text(64),
    enabled: column.boolean(),
    /** If true, users cannot decide. */
    locked: column.boolean(),
  },
})
export type PreferenceDefaultRow = InferEntity<typeof PreferenceDefaultRow>
