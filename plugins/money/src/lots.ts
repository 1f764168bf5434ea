import type { MovementNotes, Owner } from './contract.ts'

/** A movement of an account, as the lot repository receives it. */
export interface LotMovement {
  readonly kind: 'credit' | 'debit' | 'hold' | 'capture' | 'release' | 'reverse'
  readonly accountId: number
  readonly owner: Owner
  readonly asset: string
  /** Minor units, 1 or more. For a capture: the captured units. */
  readonly amount: number
  /** For a capture: the minor units that are released. */
  readonly released?: number
  readonly journalId: number
  readonly holdId?: number
  /** True for the credit of a transfer. The debit of the same journal was passed before. */
  readonly isTransferred?: boolean
  /** For a `reverse`: the journal whose units are returned, and the minor units that earlier reversals returned. */
  readonly reversed?: { readonly journalId: number; readonly before: number }
  /** Current time of the ledger, milliseconds since the epoch. */
  readonly at: number
  /** The property `lots` of the posting: the source of a credit, or certain lots for a reversal or an expiry. */
  readonly detail?: unknown
}

/** A debit that follows directly after a movement has returned units. */
export interface LotClaim extends Pick<MovementNotes, 'key' | 'kind' | 'reference' | 'parentJournalId' | 'lots'> {
  /** Minor units, 1 or more. All claims on a movement together must not exceed the units that it returns. */
  readonly amount: number
  /** See `Posting.counter`. */
  readonly counter: string
}

export interface LotView {
  readonly id: number
  readonly sourceType: string
  readonly sourceKey: string
  readonly granted: number
  readonly remaining: number
  readonly held: number
  /** Milliseconds since the epoch; null if the lot does not expire. */
  readonly expiresAt: number | null
  readonly createdAt: number
}

export interface LotPage {
  readonly items: readonly LotView[]
  /** Value of `after` for the next page; null on the last page. */
  readonly next: string | null
}

/** Units in all lots of an account. */
export interface LotSums {
  readonly remaining: number
  readonly held: number
}

/**
 * Stores the lots of the accounts of an asset. The ledger calls the methods inside the transaction of the posting,
 * while the account row is locked and before the entries are written. An error rolls back the posting. The caller
 * receives a BusinessError as it is.
 */
export interface LotRepository {
  move(movement: LotMovement): Promise<void>
  /**
   * Returns claims on the units that a `release`, a `reverse` or the rest of a `capture` returns. The ledger calls it
   * once before `move`, while the account is locked. It debits each claim directly after the movement, also from a
   * closed account. Default: no claims.
   */
  claims?(movement: LotMovement): Promise<readonly LotClaim[]>
  /** Moves the lots of a batch, in the order of account ids. Default: the ledger calls `move` for each movement. */
  moveMany?(movements: readonly LotMovement[]): Promise<void>
  /** Returns the sums that a reconciliation checks. Accounts without lots may be left out. */
  sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>>
  /**
   * Returns the lots with remaining or held units, ordered by expiry.
   *
   * @param page `after` is the `next` of the previous page
   */
  lots(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<LotPage>
}
