import type { MovementNotes, Owner } from './contract.ts'

/** A movement of an account, as the lot book receives it. */
export interface LotMovement {
  readonly kind: 'credit' | 'debit' | 'hold' | 'capture' | 'release' | 'reverse'
  readonly accountId: number
  readonly owner: Owner
  readonly asset: string
  /** Minor units, 1 or more; for a capture the captured units. */
  readonly amount: number
  /** For a capture: minor units of the hold that are released. */
  readonly released?: number
  readonly journalId: number
  readonly holdId?: number
  /** True for a credit by a transfer. The debit of the same journal has moved before. */
  readonly isTransferred?: boolean
  /** For a `reverse`: the journal whose units are returned, and its minor units that were returned earlier. */
  readonly reversed?: { readonly journalId: number; readonly before: number }
  /** Time of the ledger's clock, milliseconds since the epoch. */
  readonly at: number
  /** The `lots` of the posting: the source of a credit, or particular lots for a reversal or an expiry. */
  readonly detail?: unknown
}

/** Units that are debited immediately after a movement has returned them. */
export interface LotClaim extends Pick<MovementNotes, 'key' | 'kind' | 'reference' | 'parentJournalId' | 'lots'> {
  /** Minor units, 1 or more. All claims on a movement together are at most the units that it returns. */
  readonly amount: number
  /** As in `Posting`. */
  readonly counter: string
}

/** One lot of an account, for display. */
export interface LotView {
  readonly id: number
  readonly sourceType: string
  readonly sourceKey: string
  readonly granted: number
  readonly remaining: number
  readonly held: number
  /** Milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly createdAt: number
}

export interface LotPage {
  readonly items: readonly LotView[]
  /** Position of the next page; null on the last page. */
  readonly next: string | null
}

/** Units in the lots of an account. */
export interface LotSums {
  readonly remaining: number
  readonly held: number
}

/**
 * Stores the sources of the units of an account. Its methods run inside the transaction of the posting, after the
 * account row is locked and before the entries are written. The lots of an account therefore change only under the lock
 * of its row. An error of the lot book rolls back the posting. The caller receives a BusinessError.
 */
export interface LotRepository {
  move(movement: LotMovement): Promise<void>
  /**
   * Returns claims on units that a movement returns: those of a `release` or a `reverse`, and the rest of a `capture`.
   * The ledger calls it under the lock of the account, once per such movement and before `move`. It debits each claim
   * directly after the movement, also from a closed account. Without this method there are no claims.
   */
  claims?(movement: LotMovement): Promise<readonly LotClaim[]>
  /** Moves the lots of a batch, in the order of account ids. When absent, the ledger calls `move` for each movement. */
  moveMany?(movements: readonly LotMovement[]): Promise<void>
  /** For reconciliation. Accounts without lots may be omitted. */
  sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>>
  /**
   * Returns lots with remaining or held units for `explain`, ordered by expiry.
   *
   * @param page `after` is the `next` of an earlier page
   */
  lots(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<LotPage>
}
