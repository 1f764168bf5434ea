import type { AccountRef, LotMovement } from '../contract.ts'
import type { JournalDraft } from './checks.ts'

/** What a movement does to the account of an owner. */
export interface Leg {
  /** By its name; made where it does not exist and the leg brings something. */
  readonly account: AccountRef | number
  readonly available: number
  readonly frozen: number
  readonly lots?: Pick<LotMovement, 'kind' | 'amount' | 'released' | 'holdId' | 'isTransferred' | 'detail'>
}

/** One journal to be written: checked, but nothing looked up yet. */
export interface Movement {
  readonly asset: string
  readonly draft: JournalDraft
  /** Of one owner, or two. What they do not sum to zero goes to, or comes from, the system account. */
  readonly legs: readonly Leg[]
  readonly counter?: string
  /** The hold that the movement opens, under the lock of the account of its first leg. */
  readonly opens?: { readonly amount: number; readonly expiresAt: number }
  /** The hold that it ends, once. One that is past its expiry can only be given back. */
  readonly closes?: Closing
  /** The journal whose units come back. */
  readonly reverses?: Reversing
  /** True for a claim of the lot book, which a closed account pays as well. */
  readonly isClaim?: boolean
}

export interface Reversing {
  readonly journalId: number
  /** Minor units that the journal took. */
  readonly taken: number
}

export interface Closing {
  readonly holdId: number
  readonly captured: number
  readonly released: number
}

/** An account right after a movement. */
interface AccountAfter {
  readonly accountId: number
  readonly available: number
  readonly frozen: number
}

/** A movement that was carried out, with its accounts in the order of the legs. */
export interface Outcome {
  readonly journalId: number
  readonly accounts: readonly AccountAfter[]
  readonly holdId: number | undefined
  readonly replayed: boolean
}
