import type { MovementDetails, Owner } from './contract.ts'

export interface LotMovement {
  readonly kind: 'credit' | 'debit' | 'hold' | 'capture' | 'release' | 'reverse'
  readonly accountId: number
  readonly owner: Owner
  readonly asset: string
  /** Minor units; for a capture, the captured ones. */
  readonly amount: number
  /** For a capture: minor units that are released. */
  readonly released?: number
  readonly journalId: number
  readonly holdId?: number
  /** True for the credit of a transfer. The debit of this transfer was passed to `move` before. */
  readonly isTransferred?: boolean
  /** For a `reverse`: the reversed journal, and the number of its minor units that earlier reversals returned. */
  readonly reversed?: { readonly journalId: number; readonly before: number }
  /** Time of the ledger, milliseconds since the epoch. */
  readonly at: number
  /** The value of `lots` in the posting: the source of a credit, or certain lots for a reversal or expiry. */
  readonly detail?: unknown
}

/** A debit that directly follows a movement which returned units. */
export interface LotClaim extends Pick<MovementDetails, 'key' | 'kind' | 'reference' | 'parentJournalId' | 'lots'> {
  /** Minor units. The sum of all claims on a movement must not exceed the units that the movement returns. */
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
  /** `after` for the next page; null on the last page. */
  readonly next: string | null
}

export interface LotSums {
  readonly remaining: number
  readonly held: number
}

/**
 * Stores the lots of an asset. The ledger calls it inside the transaction of the posting, while the account row is
 * locked and before entries are written. An error rolls back the posting; the caller receives a BusinessError
 * unchanged.
 */
export interface LotRepository {
  move(movement: LotMovement): Promise<void>
  /**
   * Returns claims on units that a `release`, a `reverse` or the unused part of a `capture` returns. Called before
   * `move`. Each claim is debited directly after the movement, even from a closed account. Default: no claims.
   */
  claims?(movement: LotMovement): Promise<readonly LotClaim[]>
  /** Moves the lots of a batch, in the order of account ids. Default: `move` for each movement. */
  moveMany?(movements: readonly LotMovement[]): Promise<void>
  /** Returns the sums of lots by account id for a reconciliation. The result may leave out accounts without lots. */
  sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>>
  /**
   * Returns lots with remaining or held units, ordered by expiry.
   *
   * @param page `after` is the `next` of the previous page
   */
  lots(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<LotPage>
}
