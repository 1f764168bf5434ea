import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'
import type { ApprovalResult } from './contract.ts'

/** An approved or rejected step. Never changed. */
export const ApprovalRow = defineEntity({
  name: 'ApprovalInstance',
  tableName: 'approval_instance',
  indexes: [
    { properties: ['workflow', 'id'] },
    { properties: ['sourceType', 'sourceId', 'id'] },
    { properties: ['sourceType', 'id'] },
    { properties: ['createdAt'] },
  ],
  properties: {
    id: column.primaryKey(),
    workflow: column.text(64),
    action: column.text(64),
    sourceType: column.text(64),
    sourceId: column.text(64),
    sourceState: column.text(32),
    permissionSnapshot: column.json<string[]>(),
    /** Null if the actor is not a user; `actorName` is set then. */
    actorUserId: column.id().nullable(),
    actorName: column.text(64).nullable(),
    result: column.text(16).$type<ApprovalResult>(),
    /** Reason of a rejection; null if approved. */
    reason: column.text(64).nullable(),
    traceId: column.text(128).nullable(),
    createdAt: column.timestamp(),
  },
})
export type ApprovalRow = InferEntity<typeof ApprovalRow>

export const entities = [ApprovalRow]
