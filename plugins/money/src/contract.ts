import type { FoundPage, PageWindow, TimeSpan } from '@plinth/database'
import { extensionPoint, type LocalizedText, service, shape } from '@plinth/kernel'
import type { AccountRole, AccountStatus, HoldState, JournalAction, Recovery } from './entities.ts'
import type { LotPage, LotRepository } from './lots.ts'

export type { AccountRole, AccountStatus, HoldState, JournalAction, Recovery } from './entities.ts'
export * from './lots.ts'

export interface Owner {
  /** 1 to 32 lower-case letters, digits and hyphens. `system` is reserved for the ledger. */
  readonly type: string
  /** 1 to 64 visible ASCII characters. */
  readonly id: string
}

export interface AccountRef {
  readonly owner: Owner
  /** Code such as `points:mall`: 1 to 64 lower-case letters, digits and `: . -`. A plugin must contribute the asset. */
  readonly asset: string
}

/** The change of an owner's units by one entry; zero when units are put on hold or released. */
export interface UnitChange {
  readonly id: number
  readonly kind: string
  readonly units: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** Changes of accounts of one asset within a quarter of an hour, by kind of the entries. */
export interface MovedSums {
  /** Start of the quarter of an hour, in milliseconds since the epoch. */
  readonly at: number
  readonly kind: string
  /** Sum of the increases of accounts. */
  readonly received: bigint
  /** Sum of the decreases of accounts, as a positive number. */
  readonly taken: bigint
}

export interface LedgerAsset {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18. */
  readonly scale: number
  /** Returns the IANA time zone that decides the month of an entry. Default: the time zone of the site. */
  readonly monthZone?: () => string
  /** Symbol next to amounts; for a currency, the ISO 4217 code. Default: the display name. */
  readonly symbol?: string
  /** Stores the lots of the asset. Absent for an asset without lots. */
  readonly lots?: LotRepository
}

const lotRepositoryShape = shape.object<LotRepository>(
  { move: shape.function, sums: shape.function, lots: shape.function },
  { claims: shape.function, moveMany: shape.function },
)

/** Assets by code. The ledger rejects postings to other assets. */
export const ledgerAssets = extensionPoint<LedgerAsset>('money.asset', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.coded, maxLength: 64 },
  shape: shape.object<LedgerAsset>(
    { displayName: shape.localized, scale: shape.integer(0, 18) },
    { monthZone: shape.function, symbol: shape.text, lots: lotRepositoryShape },
  ),
})

/** Display names by kind of journal, such as `shop.order-paid`. */
export const ledgerKinds = extensionPoint<LocalizedText>('money.kind', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.dotted, maxLength: 64 },
  shape: shape.localized,
})

export interface MovementDetails {
  /** Idempotency key, 1 to 255 characters. Case and blanks are significant. */
  readonly key: string
  /** Kind such as `points.check-in`; 1 to 64 characters. */
  readonly kind: string
  /** Business object behind the movement. Type: 1 to 64 characters; id: 1 to 128. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** An earlier journal. A refund refers to the payment. */
  readonly parentJournalId?: number
  /** User or component behind the movement; at most 128 characters. */
  readonly actor?: string
  /** Reason shown to operators; at most 255 characters. */
  readonly reason?: string
  /** Business time in milliseconds since the epoch, which decides the month. Default: now. */
  readonly at?: number
  /** Passed to the lot repository. The ledger does not read it. */
  readonly lots?: unknown
}

export interface Posting extends AccountRef, MovementDetails {
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
  /**
   * Name of the system account on the other side of the movement: lower-case words, 1 to 64 characters. Default:
   * `issued` for a credit, `redeemed` for a debit.
   */
  readonly counter?: string
}

export interface PostingResult {
  readonly journalId: number
  readonly accountId: number
  /** Available minor units directly after the movement. */
  readonly available: number
  readonly frozen: number
  /** True if an earlier call with the same key executed the movement. */
  readonly replayed: boolean
}

export interface Transfer extends MovementDetails {
  readonly from: Owner
  readonly to: Owner
  readonly asset: string
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
}

/** `accountId`, `available` and `frozen` describe the account of `from`. `to` describes the account of the receiver. */
export interface TransferResult extends PostingResult {
  readonly to: { readonly accountId: number; readonly available: number; readonly frozen: number }
}

export interface HoldPosting extends Omit<Posting, 'counter'> {
  /** Milliseconds since the epoch. Then the hold is released and cannot be captured any more. Default: no expiry. */
  readonly expiresAt?: number
}

export interface HoldResult extends PostingResult {
  readonly holdId: number
}

export interface Capture extends Omit<MovementDetails, 'lots'> {
  readonly holdId: number
  /** Minor units to debit, at most the units of the hold. The remaining units are released. Default: the whole hold. */
  readonly amount?: number
  /** See `Posting.counter`. */
  readonly counter?: string
  readonly lots?: unknown
}

export interface CaptureResult extends HoldResult {
  readonly captured: number
  readonly released: number
}

export interface Release extends Omit<MovementDetails, 'kind'> {
  readonly holdId: number
  /** Kind of the journal. Default: `money.release`. */
  readonly kind?: string
}

export interface Reversal extends Omit<MovementDetails, 'kind' | 'parentJournalId' | 'lots'> {
  /** The debit or capture to reverse. */
  readonly journalId: number
  /** Minor units to return. Default: everything that has not been returned yet. */
  readonly amount?: number
}

/** A part of `Ledger.post`: the values of the method that is named like the action. */
export type Movement =
  | ({ readonly action: 'credit' } & Posting)
  | ({ readonly action: 'debit' } & Posting)
  | ({ readonly action: 'hold' } & HoldPosting)
  | ({ readonly action: 'transfer' } & Transfer)
  | ({ readonly action: 'capture' } & Capture)
  | ({ readonly action: 'release' } & Release)
  | ({ readonly action: 'reverse' } & Reversal)

export type MovementAction = Movement['action']

/** Results of movements by action. */
export interface MovementResults {
  readonly credit: PostingResult
  readonly debit: PostingResult
  readonly hold: HoldResult
  readonly transfer: TransferResult
  readonly capture: CaptureResult
  readonly release: HoldResult
  readonly reverse: PostingResult
}

export type MovementResultsOf<Movements extends readonly Movement[]> = {
  readonly [Index in keyof Movements]: MovementResults[Movements[Index]['action']]
}

export interface TakeBack extends Posting {
  /**
   * How the owner pays the part that is not available. It is always recorded as owed. `none`: the ledger collects nothing.
   * `future-credits`: later credits of the account pay it. Default: `none`.
   */
  readonly recovery?: Recovery
}

export interface TakeBackResult {
  readonly accountId: number
  /** Null if nothing was available. */
  readonly journalId: number | null
  /** Minor units that were debited. */
  readonly deducted: number
  /** Minor units that were missing, and are recorded as owed. */
  readonly owed: number
  readonly replayed: boolean
}

export interface BatchPosting extends Pick<MovementDetails, 'key' | 'reference' | 'lots'> {
  /** Account of the posting, which must be in `Batch.accountIds`. */
  readonly accountId: number
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
}

export interface Batch extends Pick<MovementDetails, 'kind' | 'actor' | 'reason' | 'at'> {
  readonly asset: string
  readonly direction: 'credit' | 'debit'
  readonly counter?: string
  /** Accounts of the postings; at most 1,000. */
  readonly accountIds: readonly number[]
  /** Returns at most 1,000 postings. Called when the accounts are locked and their lots cannot change any more. */
  postings(): Promise<readonly BatchPosting[]>
}

export interface BatchResult {
  readonly posted: number
  /** Sum of the new postings, minor units. */
  readonly amount: number
  /** Keys of postings that an earlier call has written. */
  readonly replayed: readonly string[]
  /** Keys of postings that the balance or status of the account does not allow. */
  readonly refused: readonly string[]
}

export interface Balance {
  readonly accountId?: number
  /** Minor units that can be spent or put on hold. */
  readonly available: number
  /** Minor units in open holds. */
  readonly frozen: number
}

export interface AccountView extends AccountRef {
  readonly id: number
  readonly role: AccountRole
  /** Minor units; null for system accounts, which store no balance. */
  readonly available: number | null
  /** Minor units; null for system accounts. */
  readonly frozen: number | null
  /** Minor units that the owner owes, see `Ledger.takeBack`; null for system accounts. */
  readonly owed: number | null
  /** Number of entries; null for system accounts, whose entries have no numbers. */
  readonly version: number | null
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
  /** Number of the entry in its account, from 1; null for system accounts. */
  readonly sequence: number | null
  /** Change in minor units. */
  readonly available: number
  readonly frozen: number
  /** Balance after the entry; null for system accounts. */
  readonly availableAfter: number | null
  readonly frozenAfter: number | null
  readonly kind: string
  /** Year and month in the time zone of the asset, such as `202611`. */
  readonly monthKey: number
  /** Key of the journal. */
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

/** An amount that was spent before it was taken back. */
export interface DebtView extends AccountRef {
  readonly id: number
  readonly accountId: number
  readonly kind: string
  readonly reference: { readonly type: string; readonly id: string } | null
  /** Journal of the deducted part; null if nothing was available. */
  readonly journalId: number | null
  /** Minor units that were available. */
  readonly deducted: number
  /** Minor units that were missing. */
  readonly shortfall: number
  /** Part of `shortfall` that is not paid yet. */
  readonly owed: number
  readonly recovery: Recovery
  readonly actor: string | null
  readonly reason: string | null
  readonly createdAt: number
}

export interface DebtFilter {
  readonly accountId?: number
  /** Condition from `callerRows(request, entryOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface EntryFilter {
  readonly accountId?: number
  /** Returns only entries of accounts with this asset, and none of system accounts. */
  readonly asset?: string
  readonly monthKey?: number
  readonly kind?: string
  /** Role of the accounts. Default: both. */
  readonly role?: AccountRole
  /** Condition from `callerRows(request, entryOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface AccountFilter {
  readonly asset?: string
  /** Default: both. */
  readonly role?: AccountRole
  readonly ownerType?: string
  readonly ownerId?: string
  /** Condition from `callerRows(request, accountOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface HoldFilter {
  readonly accountId?: number
  readonly state?: HoldState
  /** Condition from `callerRows(request, entryOwner)`. Default: all rows. */
  readonly rows?: object
}

export interface BalanceExplanation {
  readonly account: AccountView
  /** Lots with remaining or held units, ordered by expiry; null for an asset without lots. */
  readonly lots: LotPage | null
  /** Open holds, newest first; at most 100. */
  readonly holds: readonly HoldView[]
}

export interface MonthTotal {
  readonly kind: string
  /** Sum of all increases of available plus frozen units; at most 2^53 - 1. */
  readonly received: number
  /** Units spent, as a positive number; at most 2^53 - 1. */
  readonly spent: number
  readonly entries: number
}

/** Business errors of a credit, debit, transfer or hold. Lot repositories can throw others. */
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
 * Accounts and the movements between them. Every movement is one journal whose entries sum to zero: units that enter an
 * account leave a system account, which stores no balance. Journals and entries never change.
 *
 * Every method joins the transaction of its caller, and a business error rolls this transaction back. Concurrent calls
 * whose callers have no transaction may be executed in one transaction; a business error then affects only its own
 * call.
 *
 * @throws BusinessError `400` `money.posting-invalid` with field and rule; `400` `money.asset-unknown`; `409`
 * `money.idempotency-mismatch` if the key belongs to another movement; `409` `money.account-closed`; `409`
 * `money.balance-limit` above 2^53 - 1; `503` `money.busy`; and the errors of the lot repository
 */
export interface Ledger {
  /** Complete after all plugins are set up. */
  readonly assets: ReadonlyMap<string, LedgerAsset>
  /** Names by kind, complete after all plugins are set up. */
  readonly kinds: ReadonlyMap<string, LocalizedText>
  credit(posting: Posting): Promise<PostingResult>
  /** @throws BusinessError `409` `money.balance-insufficient` with `data.available` */
  debit(posting: Posting): Promise<PostingResult>
  /**
   * Moves units from one owner to another.
   *
   * @throws BusinessError `409` `money.balance-insufficient`; `400` `money.posting-invalid` if both owners are the same
   */
  transfer(transfer: Transfer): Promise<TransferResult>
  /** Puts units on hold for a later capture. @throws BusinessError `409` `money.balance-insufficient` */
  hold(posting: HoldPosting): Promise<HoldResult>
  /**
   * Debits units of a hold and releases the rest.
   *
   * @throws BusinessError `404` `money.hold-unknown`; `409` `money.hold-closed`, also if the hold has expired; `409`
   * `money.exceeds-hold`
   */
  capture(capture: Capture): Promise<CaptureResult>
  /**
   * Releases the expired holds of an account now, instead of with the next run of the scheduled task.
   *
   * @returns number of released holds
   */
  releaseExpiredHolds(accountId: number): Promise<number>
  /** Releases all units of a hold. @throws BusinessError `404` `money.hold-unknown`, `409` `money.hold-closed` */
  release(release: Release): Promise<HoldResult>
  /**
   * Returns units of a debit or capture to the same account and lots, with the same expiry, and debits the system
   * account that received the units. The kind is `money.reverse`, so that these units do not count as earned again.
   *
   * @throws BusinessError `404` `money.journal-unknown`; `409` `money.journal-not-reversible` for another kind of
   * journal; `409` `money.exceeds-journal` with the returnable units in `data.amount`
   */
  reverse(reversal: Reversal): Promise<PostingResult>
  /**
   * Debits an amount that an owner must return, for example after a chargeback. The balance never becomes negative: what
   * is not available is recorded as owed. With the recovery `future-credits`, units that become available later pay it
   * immediately, with an entry of the kind `money.recover`: credits, received transfers, and units that a release, capture
   * or reversal returns. A closed account owes the whole amount.
   */
  takeBack(takeBack: TakeBack): Promise<TakeBackResult>
  /**
   * Posts many credits or debits of one asset in one transaction. Skips and lists postings that the balance or status
   * of the account does not allow. If a key already belongs to another movement, the whole batch is rejected.
   */
  batch(batch: Batch): Promise<BatchResult>
  /**
   * Executes movements in one transaction, all of them or none. Use it for several accounts: it locks them in one order,
   * so that concurrent calls cause no deadlock.
   *
   * @param movements at most 100, with different keys; each one sees the changes of the earlier ones and has its own
   *   journal
   * @returns the results, in the order of the movements
   * @throws the errors of the methods that are named like the actions
   */
  post<const Movements extends readonly Movement[]>(movements: Movements): Promise<MovementResultsOf<Movements>>
  /**
   * Runs the work in one transaction, like `Database.transactional`, after it has locked the accounts in one order. Use it
   * if the work posts and also writes other tables. The work waits in the queue of the first account before it uses a
   * connection, so many callers with the same account leave connections for others. In a transaction of the caller, it
   * only locks the accounts.
   *
   * @param accounts all accounts that the work may change; accounts that do not exist yet are allowed
   */
  transactional<T>(accounts: readonly AccountRef[], work: () => Promise<T>): Promise<T>

  balance(ref: AccountRef): Promise<Balance>
  find(ref: AccountRef): Promise<AccountView | undefined>
  /**
   * @param rows condition as in `AccountFilter.rows`; an account that it excludes is treated as unknown
   * @throws BusinessError `404` `money.account-unknown`
   */
  account(id: number, rows?: object): Promise<AccountView>
  /** Creates the account if it does not exist. */
  ensureAccount(ref: AccountRef): Promise<AccountView>
  /**
   * A closed account rejects new postings, but its open holds can still be captured or released.
   *
   * @throws BusinessError `404` `money.account-unknown`
   */
  setStatus(accountId: number, status: AccountStatus): Promise<void>
  accounts(filter: AccountFilter, window: PageWindow): Promise<FoundPage<AccountView>>
  entries(filter: EntryFilter, window: PageWindow): Promise<FoundPage<EntryView>>
  holds(filter: HoldFilter, window: PageWindow): Promise<FoundPage<HoldView>>
  /** Returns the amounts that owners owe or owed. */
  debts(filter: DebtFilter, window: PageWindow): Promise<FoundPage<DebtView>>
  /**
   * @param rows condition as in `AccountFilter.rows`; the caller must be able to read all owner accounts of the journal
   * @throws BusinessError `404` `money.journal-unknown`
   */
  journal(id: number, rows?: object): Promise<JournalView>
  /**
   * Returns the entries of an asset, ordered by id, for running totals. Ids are assigned before the commit, so `before`
   * must be older than every open transaction. Otherwise an entry could be missed.
   *
   * @param page ids between `after` and `before`, both excluded; `size` 1 to 10,000
   */
  moved(
    asset: string,
    page: { readonly after: number; readonly before: number; readonly size: number },
  ): Promise<readonly UnitChange[]>
  /**
   * Adds up the entries of an asset by time and kind. The cost grows with the entries in the time span.
   *
   * @param after only entries with a larger id; default: all entries of the time span
   */
  movedOverTime(asset: string, span: TimeSpan, after?: number): Promise<readonly MovedSums[]>
  /** @param monthKey year times 100 plus month; default: the current month */
  monthTotals(accountId: number, monthKey?: number): Promise<readonly MonthTotal[]>
  /**
   * Returns the lots and holds that make up a balance.
   *
   * @param page 1 to 200 lots; `after` is the `next` of the previous page
   * @param rows condition as in `AccountFilter.rows`
   * @throws BusinessError `404` `money.account-unknown`
   */
  explain(
    accountId: number,
    page: { readonly after?: string; readonly size: number },
    rows?: object,
  ): Promise<BalanceExplanation>
  /** Returns the month of a time in the time zone of the asset, such as `202611`. */
  monthKeyOf(asset: string, at: number): number
}

export const ledger = service<Ledger>('money.ledger', { from: '@plinth/money' })
