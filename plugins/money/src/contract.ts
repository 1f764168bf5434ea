import type { FoundPage, PageWindow } from '@plinth/database'
import { extensionPoint, type LocalizedText, service, shape } from '@plinth/kernel'
import type { AccountStatus, HoldState, JournalAction } from './entities.ts'
import type { LotPage, LotRepository } from './lots.ts'

export type { AccountStatus, HoldState, JournalAction } from './entities.ts'
export * from './lots.ts'

/** Owner of an account. */
export interface Owner {
  /** `user`, `merchant`, ...: 1 to 32 lower-case letters, digits and hyphens. `system` is reserved for the ledger. */
  readonly type: string
  /** 1 to 64 visible ASCII characters. */
  readonly id: string
}

export interface AccountRef {
  readonly owner: Owner
  /** `points:mall`, `cny`: 1 to 64 lower-case letters, digits and `: . -`. A plugin must contribute the asset. */
  readonly asset: string
}

/** Change of an owner's units by one entry, negative for a decrease. It is zero when units are frozen or released. */
export interface MovedUnits {
  readonly id: number
  readonly kind: string
  readonly units: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** Kind of units in accounts, such as points or a currency. */
export interface LedgerAsset {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18: 0 for points, 2 for yuan. All amounts are integers in minor units. */
  readonly scale: number
  /**
   * Returns the IANA time zone whose months `monthTotals` counts. Called at each use. Default: the time zone of the
   * site.
   */
  readonly monthZone?: () => string
  /** Symbol next to amounts; for a currency the ISO 4217 code. Default: the display name. */
  readonly symbol?: string
  /** Stores the lots of the asset. Absent if the asset has no lots. */
  readonly lots?: LotRepository
}

const lotRepositoryShape = shape.object<LotRepository>(
  { move: shape.function, sums: shape.function, lots: shape.function },
  { claims: shape.function, moveMany: shape.function },
)

/** Assets by name. The ledger rejects a posting to an unknown asset. */
export const ledgerAssets = extensionPoint<LedgerAsset>('money.asset', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.coded, maxLength: 64 },
  shape: shape.object<LedgerAsset>(
    { displayName: shape.localized, scale: shape.integer(0, 18) },
    { monthZone: shape.function, symbol: shape.text, lots: lotRepositoryShape },
  ),
})

/** Display names of journal kinds. Contributed under the kind, such as `shop.order-paid`. */
export const ledgerKinds = extensionPoint<LocalizedText>('money.kind', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.dotted, maxLength: 64 },
  shape: shape.localized,
})

/** Properties that all movements have. */
export interface MovementNotes {
  /** Idempotency key, 1 to 255 characters. Upper and lower case and blanks are significant. */
  readonly key: string
  /** Business kind with dots, such as `points.check-in`; 1 to 64 characters. */
  readonly kind: string
  /** Subject of the movement: type 1 to 64 characters, id 1 to 128. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** Related earlier journal. A refund specifies the journal of the payment. */
  readonly parentJournalId?: number
  /** User or component that caused the movement, at most 128 characters. */
  readonly actor?: string
  /** Displayed reason, at most 255 characters. */
  readonly reason?: string
  /** Business time, milliseconds since the epoch. It determines the month. Default: the current time. */
  readonly at?: number
  /** Value that is passed to the lot repository of the asset. The ledger does not interpret it. */
  readonly lots?: unknown
}

export interface Posting extends AccountRef, MovementNotes {
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
  /**
   * System account on the other side: lower-case words, 1 to 64 characters. Default: `issued` for a credit and
   * `redeemed` for a debit.
   */
  readonly counter?: string
}

/** A movement that this call or an earlier call with the same key executed. */
export interface Posted {
  readonly journalId: number
  readonly accountId: number
  /** Minor units directly after the movement. A replayed call returns the same number. */
  readonly available: number
  readonly frozen: number
  /** True if an earlier call with the same key executed the movement and this call changed nothing. */
  readonly replayed: boolean
}

export interface Transfer extends MovementNotes {
  readonly from: Owner
  readonly to: Owner
  readonly asset: string
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
}

/** Result of a transfer: the account of `from`, and in `to` the account of `to`. */
export interface Transferred extends Posted {
  readonly to: { readonly accountId: number; readonly available: number; readonly frozen: number }
}

export interface HoldPosting extends Omit<Posting, 'counter'> {
  /**
   * Expiry of the hold, milliseconds since the epoch. At this time the hold is released automatically and can no longer
   * be captured. If absent, the hold does not expire.
   */
  readonly expiresAt?: number
}

export interface Held extends Posted {
  readonly holdId: number
}

export interface Capture extends Omit<MovementNotes, 'lots'> {
  readonly holdId: number
  /** Minor units, 1 to the amount of the hold. The rest is released. Default: the whole hold. */
  readonly amount?: number
  /** As in `Posting`. */
  readonly counter?: string
  readonly lots?: unknown
}

export interface Captured extends Held {
  readonly captured: number
  readonly released: number
}

export interface Release extends Omit<MovementNotes, 'kind'> {
  readonly holdId: number
  /** Default: `money.release`. */
  readonly kind?: string
}

export interface Reversal extends Omit<MovementNotes, 'kind' | 'parentJournalId' | 'lots'> {
  /** Journal of the debit or capture whose units are returned. */
  readonly journalId: number
  /** Minor units, 1 to the units of the journal that were not returned yet. Default: all units of the journal. */
  readonly amount?: number
}

/** One posting of a batch. The batch contains the common properties. */
export interface BatchPosting extends Pick<MovementNotes, 'key' | 'reference' | 'lots'> {
  /** One of the accounts of the batch. */
  readonly accountId: number
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
}

export interface Batch extends Pick<MovementNotes, 'kind' | 'actor' | 'reason' | 'at'> {
  readonly asset: string
  readonly direction: 'credit' | 'debit'
  readonly counter?: string
  /** Accounts that the postings may use; at most 1,000. */
  readonly accountIds: readonly number[]
  /**
   * Returns at most 1,000 postings. Called after the accounts are locked in ascending order of ids, so that their lots
   * do not change.
   */
  postings(): Promise<readonly BatchPosting[]>
}

export interface BatchResult {
  readonly posted: number
  /** Sum of the new postings, minor units. */
  readonly amount: number
  /** Keys that were posted earlier. */
  readonly replayed: readonly string[]
  /** Keys that were rejected because of the balance or the status of the account. */
  readonly refused: readonly string[]
}

export interface Balance {
  /** Absent if the account does not exist. */
  readonly accountId?: number
  /** Minor units that can be spent or held. */
  readonly available: number
  /** Minor units in open holds. */
  readonly frozen: number
}

export interface AccountView extends AccountRef {
  readonly id: number
  readonly role: 'owner' | 'system'
  readonly available: number
  readonly frozen: number
  /** Number of entries of the account. */
  readonly version: number
  readonly status: AccountStatus
  readonly createdAt: number
  readonly updatedAt: number
}

export interface EntryView {
  readonly id: number
  readonly journalId: number
  readonly accountId: number
  readonly asset: string
  readonly owner: Owner
  /** Number of the entry in the account: 1, 2, 3, ...; null for system accounts. */
  readonly sequence: number | null
  /** Change in minor units. */
  readonly available: number
  readonly frozen: number
  /** Balance after the entry; null for system accounts. */
  readonly availableAfter: number | null
  readonly frozenAfter: number | null
  readonly kind: string
  /** `202611` in the time zone of the asset. */
  readonly monthKey: number
  /** Copied from the journal of the entry, as are reference, actor and reason. */
  readonly key: string
  readonly reference: { readonly type: string; readonly id: string } | null
  readonly actor: string | null
  readonly reason: string | null
  readonly createdAt: number
}

export interface JournalView {
  readonly id: number
  readonly key: string
  readonly action: JournalAction
  readonly kind: string
  readonly reference: { readonly type: string; readonly id: string } | null
  readonly parentJournalId: number | null
  readonly actor: string | null
  readonly reason: string | null
  readonly occurredAt: number
  readonly createdAt: number
  readonly entries: readonly JournalEntryView[]
}

/** An entry within its journal. The journal contains the other properties. */
export type JournalEntryView = Omit<EntryView, 'owner' | 'key' | 'reference' | 'actor' | 'reason'>

export interface HoldView {
  readonly id: number
  readonly accountId: number
  readonly asset: string
  readonly amount: number
  readonly captured: number
  readonly released: number
  readonly state: HoldState
  /** Milliseconds since the epoch; null if the hold does not expire. */
  readonly expiresAt: number | null
  readonly journalId: number
  readonly createdAt: number
}

export interface EntryFilter {
  readonly accountId?: number
  /** Limits the result to entries of all owner accounts of an asset, without system accounts. */
  readonly asset?: string
  readonly monthKey?: number
  readonly kind?: string
  /** Rows that the caller may read: `callerRows(request, entryOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface AccountFilter {
  readonly asset?: string
  readonly ownerType?: string
  readonly ownerId?: string
  /** Rows that the caller may read: `callerRows(request, accountOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface HoldFilter {
  readonly accountId?: number
  readonly state?: HoldState
  /** Rows that the caller may read: `callerRows(request, entryOwner)`. Default: all rows. */
  readonly rows?: object
}

/** Lots and holds of a balance. */
export interface Explanation {
  readonly account: AccountView
  /** Lots with remaining or held units, ordered by expiry; null if the asset has no lots. */
  readonly lots: LotPage | null
  /** Open holds, newest first; at most 100. */
  readonly holds: readonly HoldView[]
}

/** Movements of one account in one month with one kind. */
export interface MonthTotal {
  readonly kind: string
  /** Minor units received: sum of the entries that increased available plus frozen; at most 2^53 - 1. */
  readonly received: number
  /** Minor units spent, as a positive number; at most 2^53 - 1. */
  readonly spent: number
  readonly entries: number
}

/** Reasons that reject a credit, debit, transfer or hold, except those of the lot repository. */
export const postingReasons = [
  'money.account-closed',
  'money.asset-unknown',
  'money.balance-insufficient',
  'money.balance-limit',
  'money.busy',
  'money.idempotency-mismatch',
  'money.posting-invalid',
] as const

/**
 * Accounts and the movements between them. Every movement is one journal whose entries have the sum zero: units that
 * enter an account leave a system account, which stores no balance. Journals and entries never change.
 *
 * Every method joins the transaction of its caller. A business error also rolls back that transaction. Without a
 * transaction of the caller, concurrent credits, debits and holds share one, and a business error of one does not
 * affect the others.
 *
 * All methods throw BusinessError: `400` `money.posting-invalid` with the field and its rule, `400`
 * `money.asset-unknown`, `409` `money.idempotency-mismatch` if the key belongs to another movement, `409`
 * `money.account-closed`, `409` `money.balance-limit` above 2^53 - 1, `503` `money.busy` if too many postings wait, and
 * the errors of the lot repository.
 */
export interface Ledger {
  /** Contributed assets by name. Complete after the setup of all plugins. */
  readonly assets: ReadonlyMap<string, LedgerAsset>
  /** Contributed names of kinds. Complete after the setup of all plugins. */
  readonly kinds: ReadonlyMap<string, LocalizedText>
  credit(posting: Posting): Promise<Posted>
  /** @throws BusinessError `409` `money.balance-insufficient` with `data.available` */
  debit(posting: Posting): Promise<Posted>
  /**
   * @throws BusinessError `409` `money.balance-insufficient`, `400` `money.posting-invalid` if both owners are the same
   */
  transfer(transfer: Transfer): Promise<Transferred>
  /** Freezes units for a later capture. @throws BusinessError `409` `money.balance-insufficient` */
  hold(posting: HoldPosting): Promise<Held>
  /**
   * Debits units of a hold and releases the rest. A hold is closed once.
   *
   * @throws BusinessError `404` `money.hold-unknown`, `409` `money.hold-closed` (also after its expiry), `409`
   * `money.exceeds-hold`
   */
  capture(capture: Capture): Promise<Captured>
  /** Releases all units of a hold. @throws BusinessError `404` `money.hold-unknown`, `409` `money.hold-closed` */
  release(release: Release): Promise<Held>
  /**
   * Returns units of a debit or capture to the same account and to the same lots, with the same expiry. The system
   * account that received them is debited. The kind is `money.reverse`, so that returned units do not count as earned
   * again.
   *
   * @throws BusinessError `404` `money.journal-unknown`, `409` `money.journal-not-reversible` for a journal of another
   * action, `409` `money.exceeds-journal` with the units that can still be returned in `data.amount`
   */
  reverse(reversal: Reversal): Promise<Posted>
  /**
   * Posts many credits or debits of one asset in one transaction and few statements. Postings that their account does
   * not allow are skipped and listed. A key that belongs to another movement rejects the whole batch.
   */
  batch(batch: Batch): Promise<BatchResult>

  balance(ref: AccountRef): Promise<Balance>
  /** Undefined if the account does not exist. */
  find(ref: AccountRef): Promise<AccountView | undefined>
  /**
   * @param rows as `AccountFilter.rows`; other accounts are unknown to the caller
   * @throws BusinessError `404` `money.account-unknown`
   */
  account(id: number, rows?: object): Promise<AccountView>
  /** Returns the account and creates it if it does not exist. */
  ensureAccount(ref: AccountRef): Promise<AccountView>
  /**
   * A closed account rejects new postings. Open holds can still be closed.
   *
   * @throws BusinessError `404` `money.account-unknown`
   */
  setStatus(accountId: number, status: AccountStatus): Promise<void>
  accounts(filter: AccountFilter, window: PageWindow): Promise<FoundPage<AccountView>>
  entries(filter: EntryFilter, window: PageWindow): Promise<FoundPage<EntryView>>
  holds(filter: HoldFilter, window: PageWindow): Promise<FoundPage<HoldView>>
  /**
   * @param rows accounts that the caller may read, as `AccountFilter.rows`. A journal is visible if they include all
   * its owner accounts, because entries of two organisations in one journal cannot be separated.
   * @throws BusinessError `404` `money.journal-unknown`
   */
  journal(id: number, rows?: object): Promise<JournalView>
  /**
   * Returns entries of an asset in the order of their ids, with the change of units. Used for running totals.
   *
   * Instances assign ids before their transactions commit, so an entry with a smaller id can appear later. Therefore
   * `before` must be an id from before the start of every open transaction.
   *
   * @param page ids between `after` and `before`, both excluded; `size` 1 to 10,000
   */
  moved(
    asset: string,
    page: { readonly after: number; readonly before: number; readonly size: number },
  ): Promise<readonly MovedUnits[]>
  /**
   * Returns the movements of one month by kind, ordered by kind.
   *
   * @param monthKey year times 100 plus month; default: the current month, see `monthKeyOf`
   */
  monthTotals(accountId: number, monthKey?: number): Promise<readonly MonthTotal[]>
  /**
   * Returns the lots and holds of a balance.
   *
   * @param page 1 to 200 lots, after the `next` of an earlier page
   * @param rows as for `account`
   * @throws BusinessError `404` `money.account-unknown`
   */
  explain(
    accountId: number,
    page: { readonly after?: string; readonly size: number },
    rows?: object,
  ): Promise<Explanation>
  /** Returns the month of a time, such as `202611`, in the time zone of the asset. */
  monthKeyOf(asset: string, at: number): number
}

/** The money ledger. */
export const ledger = service<Ledger>('money.ledger', { from: '@plinth/money' })
