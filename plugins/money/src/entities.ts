import { defineEntity, type InferEntity } from '@mikro-orm/core'
import { column, type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'

/** Accounts of owners store a balance, and system accounts store none. */
export type AccountRole = 'owner' | 'system'
export type AccountStatus = 'open' | 'closed'
export type JournalAction = 'credit' | 'debit' | 'transfer' | 'hold' | 'capture' | 'release' | 'reverse'
export type HoldState = 'open' | 'captured' | 'released'

/** An account. The entity is only used to read rows. Writes are conditional SQL updates of the locked row. */
export const AccountRow = defineEntity({
  name: 'MoneyAccount',
  tableName: 'money_account',
  uniques: [{ properties: ['ownerType', 'ownerId', 'asset'] }],
  indexes: [{ properties: ['asset', 'id'] }],
  properties: {
    id: column.primaryKey(),
    ownerType: column.text(32),
    ownerId: column.text(64),
    asset: column.text(64),
    role: column.text(16).$type<AccountRole>(),
    available: column.bigint(),
    frozen: column.bigint(),
    /** Sum of `owed` of the debts of the account. */
    owed: column.bigint().default(0),
    /** Number of entries, which equals `seq` of the last one. */
    version: column.bigint(),
    status: column.text(16).$type<AccountStatus>(),
    createdAt: column.bigint(),
    updatedAt: column.bigint(),
  },
})
export type AccountRow = InferEntity<typeof AccountRow>

/** A movement. Its row never changes. */
export const JournalRow = defineEntity({
  name: 'MoneyJournal',
  tableName: 'money_journal',
  uniques: [{ properties: ['idemHash'] }],
  indexes: [{ properties: ['refType', 'refId'] }, { properties: ['parentId'] }],
  properties: {
    id: column.primaryKey(),
    /** SHA-256 of the key. Every database collation compares it exactly. */
    idemHash: column.text(64),
    idemKey: column.text(255),
    /** SHA-256 of the values that a repeated call with the same key must send unchanged. */
    fingerprint: column.text(64),
    action: column.text(16).$type<JournalAction>(),
    kind: column.text(64),
    refType: column.text(64).nullable(),
    refId: column.text(128).nullable(),
    parentId: column.id().nullable(),
    actor: column.text(128).nullable(),
    reason: column.text(255).nullable(),
    occurredAt: column.bigint(),
    createdAt: column.bigint(),
  },
})
export type JournalRow = InferEntity<typeof JournalRow>

/** Entries of system accounts have no `seq` and no balance. */
export const EntryRow = defineEntity({
  name: 'MoneyEntry',
  tableName: 'money_entry',
  // Detects a lost update: the second entry would have the same `seq`.
  uniques: [{ properties: ['accountId', 'seq'] }],
  indexes: [
    { properties: ['accountId', 'monthKey', 'kind'] },
    { properties: ['accountId', 'id'] },
    { properties: ['asset', 'id'] },
    { properties: ['journalId'] },
  ],
  properties: {
    id: column.primaryKey(),
    journalId: column.id(),
    accountId: column.id(),
    /** Null for system accounts, so that a query by asset finds only owners. */
    asset: column.text(64).nullable(),
    seq: column.bigint().nullable(),
    dAvailable: column.bigint(),
    dFrozen: column.bigint(),
    availableAfter: column.bigint().nullable(),
    frozenAfter: column.bigint().nullable(),
    kind: column.text(64),
    monthKey: column.integer(),
    createdAt: column.bigint(),
  },
})
export type EntryRow = InferEntity<typeof EntryRow>

export const HoldRow = defineEntity({
  name: 'MoneyHold',
  tableName: 'money_hold',
  indexes: [
    { properties: ['accountId', 'state', 'id'] },
    { properties: ['state', 'expiresAt', 'id'] },
    { properties: ['state', 'id'] },
    { properties: ['journalId'] },
  ],
  properties: {
    id: column.primaryKey(),
    accountId: column.id(),
    amount: column.bigint(),
    captured: column.bigint(),
    released: column.bigint(),
    state: column.text(16).$type<HoldState>(),
    /** `noExpiryTime` if the hold does not expire. */
    expiresAt: column.bigint(),
    journalId: column.id(),
    createdAt: column.bigint(),
  },
})
export type HoldRow = InferEntity<typeof HoldRow>

/** How a debt is paid: not at all, or by units that the account receives later. */
export const recoveries = ['none', 'future-credits'] as const
export type Recovery = (typeof recoveries)[number]

/** An amount that was taken back after the owner had spent it. */
export const DebtRow = defineEntity({
  name: 'MoneyDebt',
  tableName: 'money_debt',
  uniques: [{ properties: ['idemHash'] }],
  indexes: [{ properties: ['accountId', 'id'] }],
  properties: {
    id: column.primaryKey(),
    accountId: column.id(),
    idemHash: column.text(64),
    fingerprint: column.text(64),
    kind: column.text(64),
    /** System account that receives the units. */
    counter: column.text(64),
    refType: column.text(64).nullable(),
    refId: column.text(128).nullable(),
    /** Journal of the part that was available; null if nothing was. */
    journalId: column.id().nullable(),
    /** The part that was available, in minor units. */
    deducted: column.bigint(),
    /** The part that was missing. */
    shortfall: column.bigint(),
    /** The part of `shortfall` that is not paid yet. */
    owed: column.bigint(),
    recovery: column.text(16).$type<Recovery>(),
    actor: column.text(128).nullable(),
    reason: column.text(255).nullable(),
    createdAt: column.bigint(),
  },
})
export type DebtRow = InferEntity<typeof DebtRow>

/** Columns that `callerRows` uses to find the user who owns an account. */
export const accountOwner = { type: 'owner_type', id: 'owner_id' } as const
/** Columns that `callerRows` uses to find the user who owns the account of an entry, hold or debt. */
export const entryOwner = { column: 'account_id', through: 'money_account', key: 'id', owner: accountOwner } as const

/** Columns that `callerRows` uses to find the users who own the accounts of a journal. */
export const journalOwner = { column: 'id', through: 'money_entry', key: 'journal_id', owner: entryOwner } as const

/**
 * Expiry time of a hold that does not expire. It is larger than every real time. Null is not used, because databases
 * sort null differently.
 */
export const noExpiryTime = Number.MAX_SAFE_INTEGER

export const entities = [AccountRow, JournalRow, EntryRow, HoldRow, DebtRow]

export const reconciliationStates = ['queued', 'running', 'completed', 'failed'] as const
export type ReconciliationState = (typeof reconciliationStates)[number]

export const findingRules = [
  'entries-count',
  'entries-available',
  'entries-frozen',
  'last-entry',
  'holds',
  'lots-remaining',
  'lots-held',
  'journal-balance',
  'journal-empty',
] as const
export type FindingRule = (typeof findingRules)[number]

export const ReconciliationRow = defineEntity({
  name: 'MoneyReconciliation',
  tableName: 'money_reconciliation',
  properties: {
    id: column.primaryKey(),
    /** Asset that is checked; null for all assets. */
    asset: column.text(64).nullable(),
    state: column.text(16).$type<ReconciliationState>(),
    requestedBy: column.text(128),
    taskId: column.id().nullable(),
    accounts: column.bigint(),
    journals: column.bigint(),
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
    /** Value stored in the account or journal, in minor units or as a count. */
    expected: column.bigint(),
    /** Value computed from the entries, holds or lots. */
    found: column.bigint(),
    createdAt: column.bigint(),
  },
})
export type FindingRow = InferEntity<typeof FindingRow>

const reason = bilingual(
  'Money records must be kept, and the ledger is append-only. The user id no longer identifies a person.',
  '资金记录依法须保留，账本只可追加。用户编号不再指向任何人。',
)

export const ledgerTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, EntryRow, {
    title: bilingual('Ledger entries', '账本分录'),
    owner: entryOwner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, HoldRow, { title: bilingual('Holds', '冻结记录'), owner: entryOwner, erasure: 'kept', reason }),
  personalTable(db, DebtRow, {
    title: bilingual('Owed amounts', '欠款'),
    owner: entryOwner,
    // Omitted, because the actor may be another user.
    omit: ['idemHash', 'fingerprint', 'actor'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, DebtRow, {
    title: bilingual('Owed amounts that the user recorded as an operator', '用户作为操作员记录的欠款'),
    owner: { actor: 'actor' },
    // Omitted, because these fields describe the owner of the account, who may be another user.
    omit: ['idemHash', 'fingerprint', 'refId', 'reason'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, JournalRow, {
    title: bilingual('Movements', '资金变动'),
    owner: journalOwner,
    // Omitted, because the actor of a movement may be another user.
    omit: ['actor'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, JournalRow, {
    title: bilingual('Movements that the user made as an operator', '用户作为操作员发起的资金变动'),
    owner: { actor: 'actor' },
    // Omitted, because these fields describe the owner of the account, who may be another user.
    omit: ['idemKey', 'refId', 'reason'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, FindingRow, {
    title: bilingual('Findings of reconciliations', '对账差异'),
    owner: entryOwner,
    erasure: 'kept',
    reason: bilingual('Removed with their reconciliation.', '随对账记录一并清除。'),
  }),
  personalTable(db, AccountRow, {
    title: bilingual('Accounts', '资金账户'),
    owner: accountOwner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ReconciliationRow, {
    title: bilingual('Reconciliations that the user requested', '用户发起的对账'),
    owner: { username: 'requested_by' },
    erasure: 'anonymised',
    set: { requestedBy: erasedName },
    reason: bilingual('A reconciliation proves that the ledger was checked.', '对账记录证明账本已核对。'),
  }),
]
