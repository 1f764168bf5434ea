import { type Database, exactInteger } from '@plinth/database'
import type {
  AccountRef,
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
import { businessError } from '../declarations.ts'
import { noExpiryTime } from '../entities.ts'
import { refOf } from './accounts.ts'
import { assertAmount, assertCounterAccount, assertOwner, journalDraft, throwPostingInvalid } from './checks.ts'
import type { DebtPayment } from './debts.ts'
import type { DebitedUnits, PendingJournal } from './journals.ts'

interface StoredHold {
  readonly id: number
  readonly accountId: number
  readonly asset: string
  readonly amount: number
}

interface OwnedHold extends StoredHold {
  readonly account: AccountRef
}

/** @throws BusinessError `404` `money.hold-unknown` */
export async function readHold(db: Database, id: number): Promise<OwnedHold> {
  const [row] = await db.query<Record<string, unknown>>(
    `select h.account_id, h.amount, a.owner_type, a.owner_id, a.asset
     from money_hold h join money_account a on a.id = h.account_id where h.id = ?`,
    [id],
  )
  if (row === undefined) throw businessError('hold-unknown')
  const { account_id, amount } = row
  const account = refOf(row)
  return { id, accountId: exactInteger(account_id), amount: exactInteger(amount), asset: account.asset, account }
}

const maxHolds = 100

/** Returns the expired open holds of an account, oldest first. */
export async function findExpiredHolds(db: Database, accountId: number, now: number) {
  const rows = await db.query<Record<string, unknown>>(
    `select id, amount from money_hold where account_id = ? and state = ? and expires_at <= ? order by id limit ${maxHolds}`,
    [accountId, 'open', now],
  )
  return rows.map(({ id, amount }) => ({ id: exactInteger(id), amount: exactInteger(amount) }))
}

/** Returns the expired open holds of all accounts, earliest expiry first. */
export async function findAllExpiredHolds(db: Database, now: number): Promise<readonly number[]> {
  const rows = await db.query<{ id: unknown }>(
    `select id from money_hold where state = ? and expires_at <= ? order by expires_at, id limit ${maxHolds}`,
    ['open', now],
  )
  return rows.map(({ id }) => exactInteger(id))
}

/** Release of an expired hold. Every caller uses the same idempotency key, so the hold is released only once. */
export const expiredHoldRelease = (holdId: number): Release => ({
  holdId,
  key: `money:hold-expiry:${holdId}`,
  kind: 'money.hold-expired',
})

export function creditJournalOf(posting: Posting): PendingJournal {
  const { owner, asset, amount, counter = 'issued', lots } = posting
  assertPosting(posting)
  assertCounterAccount(counter)
  const draft = journalDraft('credit', posting, [asset, owner.type, owner.id, amount, counter])
  const leg = { account: { owner, asset }, available: amount, frozen: 0 }
  return { asset, draft, counter, legs: [{ ...leg, lots: { kind: 'credit', amount, detail: lots } }] }
}

export function debitJournalOf(posting: Posting): PendingJournal {
  const { owner, asset, amount, counter = 'redeemed', lots } = posting
  assertPosting(posting)
  assertCounterAccount(counter)
  const draft = journalDraft('debit', posting, [asset, owner.type, owner.id, amount, counter])
  const leg = { account: { owner, asset }, available: -amount, frozen: 0 }
  return { asset, draft, counter, legs: [{ ...leg, lots: { kind: 'debit', amount, detail: lots } }] }
}

export function transferJournalOf(transfer: Transfer): PendingJournal {
  const { from, to, asset, amount, lots: detail } = transfer
  assertAmount(amount)
  assertOwner(from, 'from')
  assertOwner(to, 'to')
  if (from.type === to.type && from.id === to.id) throwPostingInvalid('to', 'another owner than from')
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

export function holdJournalOf(posting: HoldPosting): PendingJournal {
  const { owner, asset, amount, expiresAt = noExpiryTime, lots: detail } = posting
  assertPosting(posting)
  if (!(Number.isSafeInteger(expiresAt) && expiresAt > 0))
    throwPostingInvalid('expiresAt', 'milliseconds since the epoch')
  const draft = journalDraft('hold', posting, [asset, owner.type, owner.id, amount])
  const leg = { account: { owner, asset }, available: -amount, frozen: amount }
  return { asset, draft, opens: { amount, expiresAt }, legs: [{ ...leg, lots: { kind: 'hold', amount, detail } }] }
}

export function captureJournalOf(
  capture: Capture,
  { id: holdId, accountId, asset, amount: held }: StoredHold,
): PendingJournal {
  const { amount = held, counter = 'redeemed', lots: detail } = capture
  assertAmount(amount)
  assertCounterAccount(counter)
  if (amount > held) throw businessError('exceeds-hold', { params: { amount: held }, data: { amount: held } })
  const released = held - amount
  const draft = journalDraft('capture', capture, [holdId, amount, counter])
  const lots = { kind: 'capture', amount, released, holdId, detail } as const
  const leg = { account: accountId, available: released, frozen: -held, lots }
  return { asset, draft, counter, closes: { holdId, captured: amount, released }, legs: [leg] }
}

export function releaseJournalOf(
  release: Release,
  { id: holdId, accountId, asset, amount }: StoredHold,
): PendingJournal {
  const draft = journalDraft('release', { ...release, kind: release.kind ?? 'money.release' }, [holdId])
  const lots = { kind: 'release', amount, holdId, detail: release.lots } as const
  const leg = { account: accountId, available: amount, frozen: -amount, lots }
  return { asset, draft, closes: { holdId, captured: 0, released: amount }, legs: [leg] }
}

/** Reversals have their own kind, so that returned units do not count as earned again. */
const reversalKind = 'money.reverse'

export function reversalJournalOf(
  reversal: Reversal,
  { accountId, account: { asset }, taken, counter }: DebitedUnits,
): PendingJournal {
  const { journalId, amount = taken } = reversal
  assertAmount(amount)
  const notes = { ...reversal, kind: reversalKind, parentJournalId: journalId }
  const draft = journalDraft('reverse', notes, [journalId, amount])
  const leg = { account: accountId, available: amount, frozen: 0, lots: { kind: 'reverse', amount } as const }
  return { asset, draft, counter, reverses: { journalId, taken }, legs: [leg] }
}

export function claimJournalOf(claim: LotClaim, accountId: number, asset: string): PendingJournal {
  const { amount, counter, lots: detail } = claim
  assertAmount(amount)
  assertCounterAccount(counter)
  const draft = journalDraft('debit', claim, [asset, accountId, amount, counter])
  const leg = { account: accountId, available: -amount, frozen: 0, lots: { kind: 'debit', amount, detail } as const }
  return { asset, draft, counter, isClaim: true, legs: [leg] }
}

/** Journal whose units pay a debt. */
export interface RecoveryCause {
  readonly asset: string
  readonly journalId: number
}

export function recoveryJournalOf({ debt, units }: DebtPayment, { asset, journalId }: RecoveryCause): PendingJournal {
  const { id, accountId, counter, refType, refId } = debt
  const notes = {
    key: `money:recover:${journalId}:${id}`,
    kind: 'money.recover',
    parentJournalId: journalId,
    ...(refType === null || refId === null ? {} : { reference: { type: refType, id: refId } }),
  }
  const draft = journalDraft('debit', notes, [asset, accountId, units, counter])
  const lots = { kind: 'debit', amount: units } as const
  return { asset, draft, counter, isClaim: true, legs: [{ account: accountId, available: -units, frozen: 0, lots }] }
}

export function batchJournalOf(batch: Batch, posting: BatchPosting): PendingJournal {
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
