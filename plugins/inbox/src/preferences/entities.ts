import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/** The notification preferences of one user. Without a row, the user wants everything at any time. */
export const PreferenceRow = defineEntity({
  name: 'NotificationPreference',
  tableName: 'notification_preference',
  properties: {
    userId: column.primaryKey(),
    databaseEnabled: column.boolean(),
    websocketEnabled: column.boolean(),
    emailEnabled: column.boolean(),
    smsEnabled: column.boolean(),
    systemEnabled: column.boolean(),
    accountEnabled: column.boolean(),
    todoEnabled: column.boolean(),
    chatEnabled: column.boolean(),
    blogEnabled: column.boolean(),
    forumEnabled: column.boolean(),
    mallEnabled: column.boolean(),
    marketingEnabled: column.boolean(),
    /** The three columns of quiet hours are either all set or all null. */
    quietTimeZone: column.text(64).nullable(),
    /** Minutes since midnight. */
    quietStart: column.integer().nullable(),
    quietEnd: column.integer().nullable(),
    updatedAt: column.timestamp(),
  },
})
export type PreferenceRow = InferEntity<typeof PreferenceRow>
