import type { Database, PageWindow, TimeSpan } from '@plinth/database'
import type { LocalizedText } from '@plinth/kernel'
import type {
  AccountFilter,
  AccountRef,
  Batch,
  BatchResult,
  Capture,
  CaptureResult,
  EntryFilter,
  HoldFilter,
  HoldPosting,
  HoldResult,
  Ledger,
  Posting,
  PostingResult,
  Release,
  Reversal,
  Transfer,
  TransferResult,
} from '../contract.ts'
import type { AccountStatus } from '../entities.ts'
import type { Accounts } from './accounts.ts'
import type { Assets } from './assets.ts'
import { assertOwner, throwPostingInvalid } from './checks.ts'
import type { JournalOutcome, Journals, PendingJournal } from './journals.ts'
import type { LedgerReader } from './ledger-reader.ts'
import {
  batchJournalOf,
  captureJournalOf,
  creditJournalOf,
  debitJournalOf,
  holdJournalOf,
  readHold,
  releaseJournalOf,
  reversalJournalOf,
  transferJournalOf,
} from './movements.ts'
import type { PostingDecision, PostingEngine } from './posting-engine.ts'
import { PostingQueue } from './posting-queue.ts'

const largestBatch = 1_000

interface BatchDependencies {
  readonly db: Database
  readonly assets: Assets
  readonly accounts: Accounts
  readonly engine: PostingEngine
}

async function writeBatch(parts: BatchDependencies, batch: Batch): Promise<BatchResult> {
  const { db, assets, accounts, engine } = parts
  assets.get(batch.asset)
  if (batch.accountIds.length > largestBatch) throwPostingInvalid('accountIds', `at most ${largestBatch}`)
  return db.statements(async () => {
    const locked = await accounts.lock(batch.accountIds)
    for (const { asset } of locked.values())
      if (asset !== batch.asset) throwPostingInvalid('accountIds', `accounts of ${batch.asset}`)
    const postings = await batch.postings()
    if (postings.length > largestBatch) throwPostingInvalid('postings', `at most ${largestBatch}`)
    if (postings.some(({ accountId }) => !locked.has(accountId)))
      throwPostingInvalid('postings', 'of the accounts of the batch')
    if (new Set(postings.map(({ key }) => key)).size < postings.length)
      throwPostingInvalid('postings', 'of different keys')
    const movements = postings.map((posting) => batchJournalOf(batch, posting))
    const results = await engine.post(movements, locked)
    let posted = 0
    let amount = 0
    const replayed: string[] = []
    const refused: string[] = []
    postings.forEach((posting, index) => {
      const result = results[index]
      if (result === undefined || 'refused' in result) {
        if (result?.refused.reason === 'money.idempotency-mismatch') throw result.refused
        refused.push(posting.key)
      } else if (result.outcome.replayed) {
        replayed.push(posting.key)
      } else {
        posted++
        amount += posting.amount
      }
    })
    return { posted, amount, replayed, refused }
  })
}

interface LedgerDependencies {
  readonly db: Database
  readonly assets: Assets
  readonly kinds: ReadonlyMap<string, LocalizedText>
  readonly accounts: Accounts
  readonly engine: PostingEngine
  readonly journals: Journals
  readonly reader: LedgerReader
}

/** A posting joins the transaction of its caller. Without one, concurrent postings share a transaction. */
export class LedgerService implements Ledger {
  readonly #parts: LedgerDependencies
  readonly #queue: PostingQueue

  constructor(parts: LedgerDependencies) {
    this.#parts = parts
    this.#queue = new PostingQueue(parts.db, parts.engine)
  }

  get assets() {
    return this.#parts.assets.all
  }

  get kinds() {
    return this.#parts.kinds
  }

  async credit(posting: Posting): Promise<PostingResult> {
    return postedOf(await this.#post(creditJournalOf(posting), posting))
  }

  async debit(posting: Posting): Promise<PostingResult> {
    return postedOf(await this.#post(debitJournalOf(posting), posting))
  }

  async hold(posting: HoldPosting): Promise<HoldResult> {
    return heldOf(await this.#post(holdJournalOf(posting), posting))
  }

  async transfer(transfer: Transfer): Promise<TransferResult> {
    const outcome = await this.#postAlone(transferJournalOf(transfer))
    const [, to] = outcome.accounts
    return { ...postedOf(outcome), to: to as TransferResult['to'] }
  }

  async capture(capture: Capture): Promise<CaptureResult> {
    const { db } = this.#parts
    return db.statements(async () => {
      const hold = await readHold(db, capture.holdId)
      const captured = capture.amount ?? hold.amount
      const outcome = await this.#postAlone(captureJournalOf(capture, hold))
      return { ...postedOf(outcome), holdId: hold.id, captured, released: hold.amount - captured }
    })
  }

  async release(release: Release): Promise<HoldResult> {
    const { db } = this.#parts
    return db.statements(async () => {
      const hold = await readHold(db, release.holdId)
      return { ...postedOf(await this.#postAlone(releaseJournalOf(release, hold))), holdId: hold.id }
    })
  }

  async reverse(reversal: Reversal): Promise<PostingResult> {
    const { db, journals } = this.#parts
    return db.statements(async () => {
      const taken = await journals.taken(reversal.journalId)
      return postedOf(await this.#postAlone(reversalJournalOf(reversal, taken)))
    })
  }

  async batch(batch: Batch) {
    return writeBatch(this.#parts, batch)
  }

  async balance(ref: AccountRef) {
    this.#parts.assets.get(ref.asset)
    const found = await this.#parts.reader.find(ref)
    if (found === undefined) return { available: 0, frozen: 0 }
    const { id: accountId, available, frozen } = found
    return { accountId, available, frozen }
  }

  find(ref: AccountRef) {
    return this.#parts.reader.find(ref)
  }
  account(id: number, rows?: object) {
    return this.#parts.reader.account(id, rows)
  }
  async ensureAccount(ref: AccountRef) {
    const { db, assets, accounts, reader } = this.#parts
    assets.get(ref.asset)
    assertOwner(ref.owner)
    return db.statements(async () => reader.account(await accounts.findOrMake(ref)))
  }
  setStatus(accountId: number, status: AccountStatus) {
    return this.#parts.accounts.setStatus(accountId, status)
  }
  accounts(filter: AccountFilter, window: PageWindow) {
    return this.#parts.reader.accounts(filter, window)
  }
  entries(filter: EntryFilter, window: PageWindow) {
    return this.#parts.reader.entries(filter, window)
  }
  holds(filter: HoldFilter, window: PageWindow) {
    return this.#parts.reader.holds(filter, window)
  }
  journal(id: number, rows?: object) {
    return this.#parts.reader.journal(id, rows)
  }
  explain(accountId: number, page: { readonly after?: string; readonly size: number }, rows?: object) {
    return this.#parts.reader.explain(accountId, page, rows)
  }
  moved(asset: string, page: { readonly after: number; readonly before: number; readonly size: number }) {
    return this.#parts.reader.moved(asset, page)
  }
  movedOverTime(asset: string, span: TimeSpan, after?: number) {
    return this.#parts.reader.movedOverTime(asset, span, after)
  }
  monthTotals(accountId: number, monthKey?: number) {
    return this.#parts.reader.monthTotals(accountId, monthKey)
  }
  monthKeyOf(asset: string, at: number) {
    return this.#parts.assets.monthKeyOf(asset, at)
  }

  async #post(movement: PendingJournal, { owner, asset }: AccountRef): Promise<JournalOutcome> {
    this.#parts.assets.get(asset)
    if (this.#parts.db.inTransaction) return this.#postAlone(movement)
    return outcomeOf(await this.#queue.add(movement, `${asset}\n${owner.type}\n${owner.id}`))
  }

  async #postAlone(movement: PendingJournal): Promise<JournalOutcome> {
    const { db, assets, engine } = this.#parts
    assets.get(movement.asset)
    return db.statements(async () => {
      const [result] = await engine.post([movement])
      return outcomeOf(result as PostingDecision)
    })
  }
}

function outcomeOf(result: PostingDecision): JournalOutcome {
  if ('refused' in result) throw result.refused
  return result.outcome
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
