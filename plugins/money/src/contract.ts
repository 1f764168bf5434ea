import type { FoundPage, PageWindow } from '@plinth/database'
import { extensionPoint, type LocalizedText, service, shape } from '@plinth/kernel'
import type { AccountStatus, HoldState, JournalAction } from './entities.ts'
import type { LotBook, LotPage } from './lots.ts'

export type { AccountStatus, HoldState, JournalAction } from './entities.ts'
export * from './lots.ts'

/** Whose account it is. */
export interface Owner {
  /** `user`, `merchant`, ...: lower-case letters, digits and hyphens, 1 to 32 characters. `system` is the ledger's own. */
  readonly type: string
  /** 1 to 64 visible ASCII characters. */
  readonly id: string
}

export interface AccountRef {
  readonly owner: Owner
  /** `points:mall`, `cny`: lower-case letters, digits and `: . -`, 1 to 64 characters; one that a plugin brings. */
  readonly asset: string
}

/** What one entry brought to an owner, or took away when it is below zero. Freezing and giving back are zero. */
export interface MovedUnits {
  readonly id: number
  readonly kind: string
  readonly units: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
}

/** What is counted in accounts. */
export interface LedgerAsset {
  readonly displayName: LocalizedText
  /** Decimal places of the minor unit, 0 to 18: 0 for points, 2 for yuan. All amounts are whole minor units. */
  readonly scale: number
  /** Name of the IANA time zone whose months `monthTotals` counts; that of the site when absent. Read at use. */
  readonly monthZone?: () => string
  /** What stands beside amounts; of a currency its ISO 4217 code. The name when absent. */
  readonly symbol?: string
  /** Who keeps the lots of the asset; absent where units are all alike. */
  readonly lots?: LotBook
}

const lotBookShape = shape.object<LotBook>(
  { move: shape.function, sums: shape.function, lots: shape.function },
  { claims: shape.function, moveMany: shape.function },
)

/** Assets by their name. A posting to an asset that nobody brings is refused. */
export const ledgerAssets = extensionPoint<LedgerAsset>('money.asset', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.coded, maxLength: 64 },
  shape: shape.object<LedgerAsset>(
    { displayName: shape.localized, scale: shape.integer(0, 18) },
    { monthZone: shape.function, symbol: shape.text, lots: lotBookShape },
  ),
})

/** Names of the kinds of journals, for people. Contributed under the kind, such as `shop.order-paid`. */
export const ledgerKinds = extensionPoint<LocalizedText>('money.kind', {
  from: '@plinth/money',
  live: true,
  names: { ...shape.dotted, maxLength: 64 },
  shape: shape.localized,
})

/** What every movement says about itself. */
export interface MovementNotes {
  /** Idempotency key, 1 to 255 characters; kept as it is, unique by its SHA-256, so that case and blanks count. */
  readonly key: string
  /** Dotted business kind, such as `points.check-in`; 1 to 64 characters. */
  readonly kind: string
  /** The thing that it is about: type 1 to 64 characters, id 1 to 128. */
  readonly reference?: { readonly type: string; readonly id: string }
  /** The journal that it belongs to: a refund names the payment. */
  readonly parentJournalId?: number
  /** Who did it, at most 128 characters. */
  readonly actor?: string
  /** Why, for people, at most 255 characters. */
  readonly reason?: string
  /** Business moment, milliseconds since the epoch; it decides the month. Now when absent. */
  readonly at?: number
  /** For the lot book of the asset; the ledger does not look at it. */
  readonly lots?: unknown
}

export interface Posting extends AccountRef, MovementNotes {
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
  /**
   * System account on the other side: lower-case words, 1 to 64 characters. `issued` for a credit and `redeemed` for a debit
   * when absent.
   */
  readonly counter?: string
}

/** A movement that was carried out, by this call or by an earlier one under the same key. */
export interface Posted {
  readonly journalId: number
  readonly accountId: number
  /** Minor units right after it, not those of the moment when it was replayed. */
  readonly available: number
  readonly frozen: number
  /** True when an earlier call under the same key did it and nothing was done now. */
  readonly replayed: boolean
}

export interface Transfer extends MovementNotes {
  readonly from: Owner
  readonly to: Owner
  readonly asset: string
  /** Minor units, 1 to 2^53 - 1. */
  readonly amount: number
}

/** The side of `from`, and that of `to` as `to`. */
export interface Transferred extends Posted {
  readonly to: { readonly accountId: number; readonly available: number; readonly frozen: number }
}

export interface HoldPosting extends Omit<Posting, 'counter'> {
  /** Milliseconds since the epoch from which on the hold is released by itself and cannot be captured. Never when absent. */
  readonly expiresAt?: number
}

export interface Held extends Posted {
  readonly holdId: number
}

export interface Capture extends Omit<MovementNotes, 'lots'> {
  readonly holdId: number
  /** Minor units, 1 to the amount of the hold; the rest is released. All of it when absent. */
  readonly amount?: number
  /** As for a debit. */
  readonly counter?: string
  readonly lots?: unknown
}

export interface Captured extends Held {
  readonly captured: number
  readonly released: number
}

export interface Release extends Omit<MovementNotes, 'kind'> {
  readonly holdId: number
  /** `money.release` when absent. */
  readonly kind?: string
}

export interface Reversal extends Omit<MovementNotes, 'kind' | 'parentJournalId' | 'lots'> {
  /** Journal of the debit or capture whose units come back. */
  readonly journalId: number
  /** Minor units, 1 to the units of the journal that have not come back yet. All units that it took when absent. */
  readonly amount?: number
}

/** One of many postings; the rest is common to the batch. */
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
  /** Accounts that the postings may name; at most 1,000. */
  readonly accountIds: readonly number[]
  /** Asked when the accounts are locked, in ascending order of their ids: what it reads of their lots stays as it is. At most 1,000. */
  postings(): Promise<readonly BatchPosting[]>
}

export interface BatchResult {
  readonly posted: number
  /** Sum of what was posted, minor units. */
  readonly amount: number
  /** Keys that were posted before. */
  readonly replayed: readonly string[]
  /** Keys that were refused, because the balance or the state of the account does not allow them. */
  readonly refused: readonly string[]
}

export interface Balance {
  /** Absent where nothing was ever posted. */
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
  /** Entries that it has. */
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
  /** 1, 2, 3, ... in each account; null for system accounts. */
  readonly sequence: number | null
  /** Change in minor units. */
  readonly available: number
  readonly frozen: number
  /** After it; null for system accounts. */
  readonly availableAfter: number | null
  readonly frozenAfter: number | null
  readonly kind: string
  /** `202611` in the time zone of the asset. */
  readonly monthKey: number
  /** Of its journal: what it is about, who did it, and why. */
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

/** An entry within its journal, which says the rest. */
export type JournalEntryView = Omit<EntryView, 'owner' | 'key' | 'reference' | 'actor' | 'reason'>

export interface HoldView {
  readonly id: number
  readonly accountId: number
  readonly asset: string
  readonly amount: number
  readonly captured: number
  readonly released: number
  readonly state: HoldState
  /** Milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly journalId: number
  readonly createdAt: number
}

export interface EntryFilter {
  readonly accountId?: number
  /** Entries of all owners' accounts of an asset, without those of system accounts. */
  readonly asset?: string
  readonly monthKey?: number
  readonly kind?: string
  /** The rows that a caller may read: `callerRows(request, entryOwner)`. Absent: all. */
  readonly rows?: object
}

export interface AccountFilter {
  readonly asset?: string
  readonly ownerType?: string
  readonly ownerId?: string
  /** The rows that a caller may read: `callerRows(request, accountOwner)`. Absent: all. */
  readonly rows?: object
}

export interface HoldFilter {
  readonly accountId?: number
  readonly state?: HoldState
  /** The rows that a caller may read: `callerRows(request, entryOwner)`. Absent: all. */
  readonly rows?: object
}

/** Where a balance comes from. */
export interface Explanation {
  readonly account: AccountView
  /** Lots that have units left or held, the soonest expiry first; null where the asset has none. */
  readonly lots: LotPage | null
  /** Open holds, the newest first; at most 100. */
  readonly holds: readonly HoldView[]
}

/** What moved in one account in one month under one kind. */
export interface MonthTotal {
  readonly kind: string
  /** Minor units that came in: sum of the entries that raised available and frozen together; at most 2^53 - 1. */
  readonly received: number
  /** Minor units that went out, as a positive number; at most 2^53 - 1. */
  readonly spent: number
  readonly entries: number
}

/**
 * Accounts and what moves between them. Every movement is one journal whose entries sum to zero: what enters an account leaves a
 * system account, which has no balance of its own. Journals and entries are never changed.
 *
 * Every method joins the transaction of its caller. A refusal rolls that back as well; outside of one it affects nothing else.
 * On SQLite postings that wait at the same time share a transaction.
 *
 * All of them throw BusinessError: `400` `money.posting-invalid` with the field and its rule, `400` `money.asset-unknown`,
 * `409` `money.idempotency-mismatch` when the key was used for another movement, `409` `money.account-closed`, `409`
 * `money.balance-limit` beyond 2^53 - 1, `503` `money.busy` when too much waits; and what the lot book throws.
 */
export interface Ledger {
  /** What plugins bring, by name; complete when all are set up. */
  readonly assets: ReadonlyMap<string, LedgerAsset>
  /** Names of kinds that plugins contribute; complete when all are set up. */
  readonly kinds: ReadonlyMap<string, LocalizedText>
  credit(posting: Posting): Promise<Posted>
  /** @throws BusinessError `409` `money.balance-insufficient` with `data.available` */
  debit(posting: Posting): Promise<Posted>
  /** @throws BusinessError `409` `money.balance-insufficient`, `400` `money.posting-invalid` for one account on both sides */
  transfer(transfer: Transfer): Promise<Transferred>
  /** Freezes units for a later capture. @throws BusinessError `409` `money.balance-insufficient` */
  hold(posting: HoldPosting): Promise<Held>
  /**
   * Takes units of a hold away for good and gives the rest back. A hold is closed once.
   *
   * @throws BusinessError `404` `money.hold-unknown`, `409` `money.hold-closed` (also past its expiry), `409` `money.exceeds-hold`
   */
  capture(capture: Capture): Promise<Captured>
  /** Gives all units of a hold back. @throws BusinessError `404` `money.hold-unknown`, `409` `money.hold-closed` */
  release(release: Release): Promise<Held>
  /**
   * Gives units of a debit or capture back to the account that they left, and to the lots that they left, whose expiry stays. The
   * other side is the system account that received them. The kind is `money.reverse`: such units are not earned again.
   *
   * @throws BusinessError `404` `money.journal-unknown`, `409` `money.journal-not-reversible` for a journal of another action,
   *   `409` `money.exceeds-journal` with the units that may still come back in `data.amount`
   */
  reverse(reversal: Reversal): Promise<Posted>
  /**
   * Many credits or debits of one asset in one transaction, in few statements. A posting whose account does not allow it is left
   * out; a key that was used for another movement refuses all.
   */
  batch(batch: Batch): Promise<BatchResult>

  balance(ref: AccountRef): Promise<Balance>
  /** Undefined where nothing was ever posted. */
  find(ref: AccountRef): Promise<AccountView | undefined>
  /**
   * @param rows as `AccountFilter.rows`; an account outside them does not exist for the caller
   * @throws BusinessError `404` `money.account-unknown`
   */
  account(id: number, rows?: object): Promise<AccountView>
  /** The account, which is created where nothing was ever posted. */
  ensureAccount(ref: AccountRef): Promise<AccountView>
  /** A closed account refuses every posting. @throws BusinessError `404` `money.account-unknown` */
  setStatus(accountId: number, status: AccountStatus): Promise<void>
  accounts(filter: AccountFilter, window: PageWindow): Promise<FoundPage<AccountView>>
  entries(filter: EntryFilter, window: PageWindow): Promise<FoundPage<EntryView>>
  holds(filter: HoldFilter, window: PageWindow): Promise<FoundPage<HoldView>>
  /**
   * @param rows accounts that a caller may read, as `AccountFilter.rows`. A journal is visible when all its accounts of owners are
   *   among them: entries of two organisations in one journal cannot be separated.
   * @throws BusinessError `404` `money.journal-unknown`
   */
  journal(id: number, rows?: object): Promise<JournalView>
  /**
   * Entries of an asset in the order of their ids, and what each brought to its owner or took away: for sums that are carried on.
   *
   * Ids are taken before their transaction commits, and by several processes: what lies behind an entry may still come. So
   * `before` is to be the id of a moment that lies further back than any transaction lasts.
   *
   * @param page ids between `after` and `before`, both excluded; `size` 1 to 10,000
   */
  moved(
    asset: string,
    page: { readonly after: number; readonly before: number; readonly size: number },
  ): Promise<readonly MovedUnits[]>
  /**
   * What moved in one month, by kind in order of their names.
   *
   * @param monthKey year times 100 plus month; `monthKeyOf` of the asset when absent: this month
   */
  monthTotals(accountId: number, monthKey?: number): Promise<readonly MonthTotal[]>
  /**
   * Which lots and holds a balance consists of.
   *
   * @param page of the lots: 1 to 200 of them, behind the `next` of an earlier page
   * @param rows as for `account`
   * @throws BusinessError `404` `money.account-unknown`
   */
  explain(
    accountId: number,
    page: { readonly after?: string; readonly size: number },
    rows?: object,
  ): Promise<Explanation>
  /** `202611` for a moment, in the time zone that counts the months of the asset. */
  monthKeyOf(asset: string, at: number): number
}

/** The money ledger. */
export const ledger = service<Ledger>('money.ledger', { from: '@plinth/money' })
