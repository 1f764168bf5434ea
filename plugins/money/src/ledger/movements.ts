import type {
  Batch,
  BatchPosting,
  Capture,
  HoldPosting,
  LotClaim,
  Posting,
  Release,
  Reversal,
  Transfer,
} from '../contract.ts'
import { never } from '../entities.ts'
import { businessError } from '../failures.ts'
import { assertAmount, assertCounter, assertOwner, invalid, journalDraft } from './checks.ts'
import type { StoredHold } from './holds.ts'
import type { Movement, TakenUnits } from './journals.ts'

/** Checks a posting and returns its credit movement. */
export function creditOf(posting: Posting): Movement {
  const { owner, asset, amount, counter = 'issued', lots } = posting
  assertPosting(posting)
  assertCounter(counter)
  const draft = journalDraft('credit', posting, [asset, owner.type, owner.id, amount, counter])
  const leg = { account: { owner, asset }, available: amount, frozen: 0 }
  return { asset, draft, counter, legs: [{ ...leg, lots: { kind: 'credit', amount, detail: lots } }] }
}

export function debitOf(posting: Posting): Movement {
  const { owner, asset, amount, counter = 'redeemed', lots } = posting
  assertPosting(posting)
  assertCounter(counter)
  const draft = journalDraft('debit', posting, [asset, owner.type, owner.id, amount, counter])
  const leg = { account: { owner, asset }, available: -amount, frozen: 0 }
  return { asset, draft, counter, legs: [{ ...leg, lots: { kind: 'debit', amount, detail: lots } }] }
}

export function transferOf(transfer: Transfer): Movement {
  const { from, to, asset, amount, lots: detail } = transfer
  assertAmount(amount)
  assertOwner(from, 'from')
  assertOwner(to, 'to')
  if (from.type === to.type && from.id === to.id) invalid('to', 'another owner than from')
  const draft = journalDraft('transfer', transfer, [asset, from.type, from.id, to.type, to.id, amount])
  const legs = [
    {
      account: { owner: from, asset },
      available: -amount,
      frozen: 0,
      lots: { kind: 'debit', amount, detail } as const,
    },
    {
      account: { owner: to, asset },
      available: amount,
      frozen: 0,
      lots: { kind: 'credit', amount, isTransferred: true, detail } as const,
    },
  ]
  return { asset, draft, legs }
}

export function holdOf(posting: HoldPosting): Movement {
  const { owner, asset, amount, expiresAt = never, lots: detail } = posting
  assertPosting(posting)
  if (!(Number.isSafeInteger(expiresAt) && expiresAt > 0)) invalid('expiresAt', 'milliseconds since the epoch')
  const draft = journalDraft('hold', posting, [asset, owner.type, owner.id, amount])
  const leg = { account: { owner, asset }, available: -amount, frozen: amount }
  return { asset, draft, opens: { amount, expiresAt }, legs: [{ ...leg, lots: { kind: 'hold', amount, detail } }] }
}

export function captureOf(capture: Capture, { id: holdId, accountId, asset, amount: held }: StoredHold): Movement {
  const { amount = held, counter = 'redeemed', lots: detail } = capture
  assertAmount(amount)
  assertCounter(counter)
  if (amount > held) throw businessError('exceeds-hold', { params: { amount: held }, data: { amount: held } })
  const released = held - amount
  const draft = journalDraft('capture', capture, [holdId, amount, counter])
  const lots = { kind: 'capture', amount, released, holdId, detail } as const
  const leg = { account: accountId, available: released, frozen: -held, lots }
  return { asset, draft, counter, closes: { holdId, captured: amount, released }, legs: [leg] }
}

export function releaseOf(release: Release, { id: holdId, accountId, asset, amount }: StoredHold): Movement {
  const draft = journalDraft('release', { ...release, kind: release.kind ?? 'money.release' }, [holdId])
  const lots = { kind: 'release', amount, holdId, detail: release.lots } as const
  const leg = { account: accountId, available: amount, frozen: -amount, lots }
  return { asset, draft, closes: { holdId, captured: 0, released: amount }, legs: [leg] }
}

/** Kind of every reversal. It has a separate kind, so that returned units do not count as earned again. */
const reversalKind = 'money.reverse'

export function reverseOf(reversal: Reversal, { accountId, asset, taken, counter }: TakenUnits): Movement {
  const { journalId, amount = taken } = reversal
  assertAmount(amount)
  const notes = { ...reversal, kind: reversalKind, parentJournalId: journalId }
  const draft = journalDraft('reverse', notes, [journalId, amount])
  const leg = { account: accountId, available: amount, frozen: 0, lots: { kind: 'reverse', amount } as const }
  return { asset, draft, counter, reverses: { journalId, taken }, legs: [leg] }
}

/** Returns the debit movement for a claim on lots. */
export function claimOf(claim: LotClaim, accountId: number, asset: string): Movement {
  const { amount, counter, lots: detail } = claim
  assertAmount(amount)
  assertCounter(counter)
  const draft = journalDraft('debit', claim, [asset, accountId, amount, counter])
  const leg = { account: accountId, available: -amount, frozen: 0, lots: { kind: 'debit', amount, detail } as const }
  return { asset, draft, counter, isClaim: true, legs: [leg] }
}

export function batchedOf(batch: Batch, posting: BatchPosting): Movement {
  const { asset, direction, counter = direction === 'credit' ? 'issued' : 'redeemed' } = batch
  const { accountId, amount, lots: detail } = posting
  assertAmount(amount)
  const notes = { kind: batch.kind, ...posting, ...notesOf(batch) }
  const draft = journalDraft(direction, notes, [asset, accountId, amount, counter])
  const leg = { account: accountId, available: direction === 'credit' ? amount : -amount, frozen: 0 }
  return { asset, draft, counter, legs: [{ ...leg, lots: { kind: direction, amount, detail } }] }
}

const notesOf = ({ actor, reason, at }: Batch) => ({
  ...(actor === undefined ? {} : { actor }),
  ...(reason === undefined ? {} : { reason }),
  ...(at === undefined ? {} : { at }),
})

function assertPosting({ owner, amount }: Posting | HoldPosting): void {
  assertAmount(amount)
  assertOwner(owner)
}
