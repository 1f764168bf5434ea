import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

/**
 * The claim of an idempotency key. The transaction of the call inserts it, so it exists exactly if the call was
 * executed.
 */
export const CallRow = defineEntity({
  name: 'IdempotencyCall',
  tableName: 'idempotency_call',
  uniques: [{ properties: ['name'] }],
  indexes: [{ properties: ['createdAt'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of scope and key. */
    name: column.text(64),
    /** Encrypted fingerprint; after the call, also its response. See `CompletedCall`. */
    record: column.longText(),
    createdAt: column.timestamp(),
  },
})
export type CallRow = InferEntity<typeof CallRow>
