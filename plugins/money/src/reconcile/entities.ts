import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column } from '@plinth/database'

export const reconciliationStates = ['queued', 'running', 'completed', 'failed'] as const
export type ReconciliationState = (typeof reconciliationStates)[number]

export const findingRules = [
  ...(['entries-count', 'entries-available', 'entries-frozen', 'last-entry', 'holds', 'lots-remaining'] as const),
  ...(['lots-held', 'journal-balance', 'journal-empty'] as const),
] as const
/** The comparison that failed. */
export type FindingRule = (typeof findingRules)[number]

/** One comparison of entries, balances, holds and lots. */
export const ReconciliationRow = defineEntity({
  name: 'MoneyReconciliation',
  tableName: 'money_reconciliation',
  properties: {
    id: column.primaryKey(),
    /** The compared asset; null for all assets. */
    asset: column.text(64).nullable(),
    state: column.text(16).$type<ReconciliationState>(),
    requestedBy: column.text(128),
    taskId: column.id().nullable(),
    /** Number of accounts that were checked so far. */
    accounts: column.bigint(),
    /** Number of journals that were checked so far. */
    journals: column.bigint(),
    /** Number of differences that were found so far. */
    findings: column.bigint(),
    createdAt: column.bigint(),
    finishedAt: column.bigint().nullable(),
  },
})
export type ReconciliationRow = InferEntity<typeof ReconciliationRow>

export const FindingRow = defineEntity({
  name: 'MoneyFinding',
  tableName: 'money_finding',
  indexes: [{ properties: ['reconciliationId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    reconciliationId: column.id(),
    rule: column.text(32).$type<FindingRule>(),
    accountId: column.id().nullable(),
    journalId: column.id().nullable(),
    /** Minor units or a count, as stored in the account or journal. */
    expected: column.bigint(),
    /** The same value, computed from the rows that should agree. */
    found: column.bigint(),
    createdAt: column.bigint(),
  },
})
export type FindingRow = InferEntity<typeof FindingRow>
