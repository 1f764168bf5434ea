import type { Database } from '@plinth/database'
import type { AccountRef, HoldResult, Movement, MovementAction, MovementResults, PostingResult } from '../contract.ts'
import type { JournalOutcome, Journals, PendingJournal } from './journals.ts'
import {
  captureJournalOf,
  creditJournalOf,
  debitJournalOf,
  holdJournalOf,
  readHold,
  releaseJournalOf,
  reversalJournalOf,
  transferJournalOf,
} from './movements.ts'

/** A validated movement, and how its result is read. */
export interface Prepared<Result> {
  readonly journal: PendingJournal
  /** Account in whose queue the movement waits. */
  readonly account: AccountRef
  /** True if it may share a transaction with movements of other callers. */
  readonly isShared: boolean
  resultOf(outcome: JournalOutcome): Result
}

interface PreparationDependencies {
  readonly db: Database
  readonly journals: Journals
}

export type MovementOf<Action extends MovementAction> = Omit<Extract<Movement, { readonly action: Action }>, 'action'>

type Preparation<Action extends MovementAction> = (
  movement: MovementOf<Action>,
  parts: PreparationDependencies,
) => Prepared<MovementResults[Action]> | Promise<Prepared<MovementResults[Action]>>

/**
 * Validates movements. It may read before the transaction, because the account and the amount of a hold or of an earlier
 * journal never change.
 */
export const preparations: { readonly [Action in MovementAction]: Preparation<Action> } = {
  credit: (posting) => shared(posting, creditJournalOf(posting), postedOf),
  debit: (posting) => shared(posting, debitJournalOf(posting), postedOf),
  hold: (posting) => shared(posting, holdJournalOf(posting), heldOf),
  transfer: (transfer) =>
    shared({ owner: transfer.from, asset: transfer.asset }, transferJournalOf(transfer), (outcome) => {
      const [, to] = outcome.accounts
      if (to === undefined) throw new Error(`Journal ${outcome.journalId} has no receiver.`)
      return { ...postedOf(outcome), to }
    }),
  async capture(capture, { db }) {
    const hold = await readHold(db, capture.holdId)
    const captured = capture.amount ?? hold.amount
    return alone(hold.account, captureJournalOf(capture, hold), (outcome) => ({
      ...postedOf(outcome),
      holdId: hold.id,
      captured,
      released: hold.amount - captured,
    }))
  },
  async release(release, { db }) {
    const hold = await readHold(db, release.holdId)
    const resultOf = (outcome: JournalOutcome) => ({ ...postedOf(outcome), holdId: hold.id })
    return alone(hold.account, releaseJournalOf(release, hold), resultOf)
  },
  async reverse(reversal, { journals }) {
    const taken = await journals.taken(reversal.journalId)
    return alone(taken.account, reversalJournalOf(reversal, taken), postedOf)
  },
}

function shared<Result>(
  account: AccountRef,
  journal: PendingJournal,
  resultOf: Prepared<Result>['resultOf'],
): Prepared<Result> {
  return { account, journal, resultOf, isShared: true }
}

/** The lot repository may claim units that the movement returns, and then reads rows that other movements change. */
function alone<Result>(
  account: AccountRef,
  journal: PendingJournal,
  resultOf: Prepared<Result>['resultOf'],
): Prepared<Result> {
  return { account, journal, resultOf, isShared: false }
}

function postedOf({ journalId, accounts, replayed }: JournalOutcome): PostingResult {
  const [account] = accounts
  if (account === undefined) throw new Error(`Journal ${journalId} has no entry.`)
  return { journalId, ...account, replayed }
}

function heldOf(outcome: JournalOutcome): HoldResult {
  if (outcome.holdId === undefined) throw new Error(`Journal ${outcome.journalId} opened no hold.`)
  return { ...postedOf(outcome), holdId: outcome.holdId }
}
