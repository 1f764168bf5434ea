import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/**
 * An API token: a personal one, whose permissions are limited by the current permissions of its owner, or the token of
 * an audience.
 */
export const ApiTokenRow = defineEntity({
  name: 'IamApiToken',
  tableName: 'iam_api_token',
  uniques: [{ properties: ['tokenHash'] }],
  indexes: [
    { properties: ['userId', 'id'] },
    { properties: ['expiresAt'] },
    { properties: ['revokedAt'] },
    { properties: ['noticeAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    userId: column.id(),
    name: column.text(100),
    /** SHA-256 of the token in lower-case hexadecimal. */
    tokenHash: column.text(64),
    /** First random characters of the token, so that its owner recognises it. */
    firstCharacters: column.text(4),
    /** Permission codes. Empty: no permissions. */
    permissions: column.json<string[]>(),
    dataScope: column.text(8).$type<'all' | 'org' | 'self'>(),
    createdAt: column.timestamp(),
    expiresAt: column.timestamp(),
    /** Time from which the owner is notified of the end. Null if the notice was sent or the token ends soon anyway. */
    noticeAt: column.timestamp().nullable(),
    lastUsedAt: column.timestamp().nullable(),
    /** Network of the client that used the token last. */
    lastUsedNetwork: column.text(64).nullable(),
    revokedAt: column.timestamp().nullable(),
    /** Audience of a token that only annotated routes accept, see `acceptsAudience`. Null: a personal token. */
    audience: column.text(32).nullable(),
    /** Session with which the token ends. Null: it does not depend on a session. */
    sessionId: column.id().nullable(),
  },
})
export type ApiTokenRow = InferEntity<typeof ApiTokenRow>
