import type { MovementNotes, Owner } from './contract.ts'

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
  /** True for the credit of a transfer. Its debit was passed before. */
  readonly isTransferred?: boolean
  /** For a `reverse`: the journal, and its minor units that were returned before. */
  readonly reversed?: { readonly journalId: number; readonly before: number }
  /** Time of the ledger, milliseconds since the epoch. */
  readonly at: number
  /** `lots` of the posting: the source of a credit, or certain lots for a reversal or expiry. */
  readonly detail?: unknown
}

/** A debit that directly follows a movement which returned units. */
export interface LotClaim extends Pick<MovementNotes, 'key' | 'kind' | 'reference' | 'parentJournalId' | 'lots'> {
  /** Minor units. All claims on a movement are at most the units that it returns. */
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
   * Returns claims on units that a `release`, a `reverse` or the rest of a `capture` returns. Called before `move`.
   * Each claim is debited directly after the movement, even from a closed account. Default: no claims.
   */
  claims?(movement: LotMovement): Promise<readonly LotClaim[]>
  /** Moves the lots of a batch, in the order of account ids. Default: `move` for each movement. */
  moveMany?(movements: readonly LotMovement[]): Promise<void>
  /** For a reconciliation. Accounts without lots may be left out. */
  sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>>
  /**
   * Returns lots with remaining or held units, ordered by expiry.
   *
   * @param page `after` is the `next` of the previous page
   */
  lots(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<LotPage>
}
