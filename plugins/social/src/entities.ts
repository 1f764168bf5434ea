import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

export const outboundOutcomes = ['accepted', 'rejected', 'deferred', 'unknown'] as const

/** The result of one message at WeChat. It contains no token and no complete open ID. */
export const OutboundRow = defineEntity({
  name: 'SocialOutbound',
  tableName: 'social_outbound',
  indexes: [
    { properties: ['accountCode', 'id'] },
    { properties: ['outcome', 'id'] },
    { properties: ['accountCode', 'outcome', 'id'] },
    { properties: ['createdAt', 'id'] },
  ],
  properties: {
    id: column.primaryKey(),
    accountCode: column.text(64),
    messageType: column.text(32),
    /** The last four characters of the open ID. */
    toUser: column.text(16),
    templateId: column.text(128).nullable(),
    clientMessageId: column.text(200),
    outcome: column.text(16).$type<(typeof outboundOutcomes)[number]>(),
    /** Id that WeChat assigned. Stored as text, because it may exceed 2^53. */
    providerMessageId: column.text(64).nullable(),
    providerCode: column.text(64).nullable(),
    providerMessage: column.text(500).nullable(),
    createdAt: column.timestamp(),
  },
})
export type OutboundRow = InferEntity<typeof OutboundRow>
