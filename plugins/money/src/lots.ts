import type { MovementNotes, Owner } from './contract.ts'

/** A movement of an account, for whoever keeps its lots. */
export interface LotMovement {
  readonly kind: 'credit' | 'debit' | 'hold' | 'capture' | 'release' | 'reverse'
  readonly accountId: number
  readonly owner: Owner
  readonly asset: string
  /** Minor units, 1 or more; of a capture what is taken away for good. */
  readonly amount: number
  /** Of a capture: minor units of the hold that come back. */
  readonly released?: number
  readonly journalId: number
  readonly holdId?: number
  /** Of a credit by a transfer: true, and the debit of the same journal has moved before. */
  readonly isTransferred?: boolean
  /** Of a `reverse`: the journal whose units come back, and the minor units of it that came back before. */
  readonly reversed?: { readonly journalId: number; readonly before: number }
  /** The ledger's clock, milliseconds since the epoch. */
  readonly at: number
  /** What the poster passed as `lots`: the source of a credit, particular lots for a reversal or an expiry. */
  readonly detail?: unknown
}

/** Units that leave an account as soon as a movement has given them back. */
export interface LotClaim extends Pick<MovementNotes, 'key' | 'kind' | 'reference' | 'parentJournalId' | 'lots'> {
  /** Minor units, 1 or more; all claims of a movement together are at most the units that it gives back. */
  readonly amount: number
  /** As for a debit. */
  readonly counter: string
}

/** One lot of an account, for people. */
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
  /** Position of the page that follows; null when none does. */
  readonly next: string | null
}

/** Units of the lots of an account. */
export interface LotSums {
  readonly remaining: number
  readonly held: number
}

/**
 * Keeps where the units of an account came from. It is called inside the transaction of the posting, after the account's row is
 * locked by its update and before the entries are written, so the lots of an account change under the lock of its row alone.
 * What it throws rolls the posting back; a BusinessError reaches the caller.
 */
export interface LotBook {
  move(movement: LotMovement): Promise<void>
  /**
   * Claims on units that a movement gives back: those of a `release` or a `reverse`, and the rest of a `capture`. The ledger calls
   * it under the lock of the account, once for each such movement and before `move`, and debits each claim directly after the
   * movement, from a closed account too. Nothing is claimed when absent.
   */
  claims?(movement: LotMovement): Promise<readonly LotClaim[]>
  /** The movements of a batch, in the order of account ids. One after another by `move` when absent. */
  moveMany?(movements: readonly LotMovement[]): Promise<void>
  /** For reconciliation: accounts without lots may be left out. */
  sums(accountIds: readonly number[]): Promise<ReadonlyMap<number, LotSums>>
  /**
   * For `explain`: lots that have units left or held, the soonest expiry first.
   *
   * @param page `after` is the `next` of an earlier page
   */
  lots(accountId: number, page: { readonly after?: string; readonly size: number }): Promise<LotPage>
}
